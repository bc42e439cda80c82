#!/usr/bin/env python3
"""Measures how distinctive names are and how plain the prose is.

    scripts/names.py [--check] [--crate NAME] [--worst N]

Reads the tracked Rust sources without tests, benches and examples, and the Markdown
pages. Prints the share of one-word type names, of type definitions whose name is
defined three or more times, and of one-word constants; the number of functions
called `of`; and the banned words per 1,000 lines. `--check` fails if a figure
exceeds its limit.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMITS = {"one-word types": 35, "homonyms": 10, "one-word constants": 35, "functions called of": 10,
          "banned words": 0.5}

VISIBILITY = r"^\s*(?:pub(?:\([^)]*\))?\s+)?"
TYPE = re.compile(VISIBILITY + r"(?:unsafe\s+)?(?:struct|enum|trait|type|union)\s+([A-Z]\w*)", re.M)
CONSTANT = re.compile(VISIBILITY + r"(?:const|static)\s+([A-Z][A-Z0-9_]*)\s*:", re.M)
FN_OF = re.compile(r"\bfn\s+of\s*[<(]")
WORDS_IN_TYPE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z0-9]*|[A-Z]+")
BANNED = re.compile(
    r"\b(told|tells of|mend(?:s|ed|ing)?|somebody|whoever|nobody|by now|how-manieth|is told|are told|"
    r"made anew|anew|strangers?)\b", re.I)
TEST_PATH = re.compile(r"(^|/)(tests|benches|examples|fuzz|bench|testkit)(/|$)|_tests?\.rs$|/tests?\.rs$")
# Associated types, whose names a trait prescribes.
PRESCRIBED = {"Args", "Output", "Error", "Err", "Item", "Target", "Future", "Response"}


def without_inline_tests(text):
    found = re.search(r"^#\[cfg\((?:all\()?test", text, re.M)
    if found and re.search(r"\bmod \w+\s*\{", text[found.start():found.start() + 300]):
        return text[:found.start()]
    return text


def measure(only_crate=None):
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    types, constants, of, lines = collections.defaultdict(list), [], 0, 0
    banned = collections.Counter()
    for path in tracked.stdout.split("\n"):
        file = ROOT / path
        if not file.is_file() or only_crate and not path.startswith(f"crates/{only_crate}/"):
            continue
        if path.endswith(".md") and path != "CHANGELOG.md":
            text = file.read_text(errors="replace")
            lines += text.count("\n")
            banned.update(word.lower() for word in BANNED.findall(text))
        elif path.endswith(".rs") and not TEST_PATH.search(path):
            text = without_inline_tests(file.read_text(errors="replace"))
            lines += text.count("\n")
            for name in TYPE.findall(text):
                if len(name) > 1 and name not in PRESCRIBED:
                    types[name].append(path)
            constants += CONSTANT.findall(text)
            of += len(FN_OF.findall(text))
            for line in text.split("\n"):
                if "//" in line or '"' in line:
                    banned.update(word.lower() for word in BANNED.findall(line))
    defined = sum(len(places) for places in types.values())
    one_word = sum(len(places) for name, places in types.items() if len(WORDS_IN_TYPE.findall(name)) == 1)
    homonyms = sum(len(places) for places in types.values() if len(places) >= 3)
    figures = {
        "one-word types": 100 * one_word / max(1, defined),
        "homonyms": 100 * homonyms / max(1, defined),
        "one-word constants": 100 * sum("_" not in name for name in constants) / max(1, len(constants)),
        "functions called of": of,
        "banned words": 1000 * sum(banned.values()) / max(1, lines),
    }
    return figures, types, banned


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if a figure exceeds its limit")
    parser.add_argument("--crate", help="measure one directory of crates/")
    parser.add_argument("--worst", type=int, default=10, help="number of homonyms to list")
    args = parser.parse_args()
    figures, types, banned = measure(args.crate)
    repeated = sorted((item for item in types.items() if len(item[1]) >= 3), key=lambda item: -len(item[1]))
    for name, places in repeated[:args.worst]:
        print(f"{len(places)} definitions of {name}: {', '.join(sorted(set(places)))}")
    if banned:
        print("words:", ", ".join(f"{word} {count}" for word, count in banned.most_common(10)))
    failed = False
    for name, figure in figures.items():
        over = figure > LIMITS[name]
        failed |= over
        print(f"{name}: {figure:.1f} (at most {LIMITS[name]}){'  <-- exceeds the limit' if over else ''}")
    return 1 if args.check and failed else 0


if __name__ == "__main__":
    sys.exit(main())

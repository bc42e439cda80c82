"""In-process measurements of the original; runs inside bench/.venv, started by bench/run.py.

Prints one JSON object per line, with the metric names of `bench_engine`. bench/README.md
defines the tools and arguments.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# Its packages come first: a program in this directory may have the same name.
sys.path.append(sys.path.pop(0))

import model_tools  # noqa: E402
from tools.registry import registry  # noqa: E402

from harness.stats import percentile  # noqa: E402

Arguments = dict[str, Any]

ECHO = "bench_echo"
NOOP = "bench_noop"
RESULT = '{"ok":true}'
ECHO_SCHEMA: dict[str, Any] = {
    "name": ECHO,
    "description": "Measures the cost of a call.",
    "parameters": {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "flag": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["text"],
    },
}
NOOP_SCHEMA: dict[str, Any] = {
    "name": NOOP,
    "description": "Measures the cost of a call without arguments.",
    "parameters": {"type": "object", "properties": {}},
}
CHUNK = 1000
MODEL_CHARACTERS_PER_TOKEN = 4


def native_args() -> Arguments:
    return {"text": "hello", "count": 3, "flag": True, "tags": ["a", "b"]}


def string_args() -> Arguments:
    return {"text": "hello", "count": "3", "flag": "true", "tags": '["a","b"]'}


def no_args() -> Arguments:
    return {}


def emit(metric: str, **fields: object) -> None:
    print(json.dumps({"metric": metric, **fields}), flush=True)


def emit_times(metric: str, nanoseconds: list[int], rate_per_s: float) -> None:
    emit(
        metric,
        p50_us=percentile(nanoseconds, 50) / 1e3,
        min_us=min(nanoseconds) / 1e3,
        p99_us=percentile(nanoseconds, 99) / 1e3,
        rate_per_s=rate_per_s,
        n=len(nanoseconds),
    )


def measure_calls(
    metric: str, action: Callable[[Arguments], object], arguments: Callable[[], Arguments], n: int
) -> None:
    """Times `action`, always on fresh arguments, since the original coerces them in place."""
    clock = time.perf_counter_ns
    for _ in range(min(n, 200)):
        action(arguments())
    samples: list[int] = []
    for prepared in chunks(arguments, n):
        for value in prepared:
            start = clock()
            action(value)
            samples.append(clock() - start)
    # The rate is measured without a clock around each call.
    busy = 0
    for prepared in chunks(arguments, n):
        start = clock()
        for value in prepared:
            action(value)
        busy += clock() - start
    emit_times(metric, samples, rate_per_s=n / (busy / 1e9))


def chunks(arguments: Callable[[], Arguments], n: int) -> Iterable[list[Arguments]]:
    while n > 0:
        size = min(n, CHUNK)
        yield [arguments() for _ in range(size)]
        n -= size


def measure_plain(
    metric: str, action: Callable[[], object], n: int, before: Callable[[], object] | None = None
) -> None:
    """Times `action`; `before` prepares each run and is not measured."""
    samples: list[int] = []
    for _ in range(n):
        if before is not None:
            before()
        start = time.perf_counter_ns()
        action()
        samples.append(time.perf_counter_ns() - start)
    emit_times(metric, samples, rate_per_s=n / (sum(samples) / 1e9))


def all_definitions() -> list[Arguments]:
    return model_tools.get_tool_definitions(quiet_mode=True)


def call(name: str) -> Callable[[Arguments], str]:
    handle = model_tools.handle_function_call
    return lambda arguments: handle(
        name, arguments, task_id="bench", tool_call_id="call_1", session_id="bench"
    )


def register(name: str, schema: Arguments) -> None:
    registry.register(
        name=name,
        toolset="bench",
        schema={**schema, "name": name},
        handler=lambda arguments, **_: RESULT,
    )


def fill_registry(size: int) -> None:
    for number in range(size - len(registry.get_all_tool_names())):
        register(f"bench_filler_{size}_{number}", ECHO_SCHEMA)


def measure_definitions(quick: bool) -> None:
    # Only the first request of the process is cold, so there is one sample.
    measure_plain("definitions.cold", all_definitions, n=1)
    measure_plain(
        "definitions.recompute",
        all_definitions,
        n=10 if quick else 60,
        before=model_tools._clear_tool_defs_cache,
    )
    measure_plain("definitions.warm", all_definitions, n=500 if quick else 4000)


def measure_schemas() -> None:
    definitions = model_tools.get_tool_definitions(["hermes-cli"], quiet_mode=True)
    text = json.dumps(definitions, ensure_ascii=False)
    emit(
        "schemas.hermes-cli",
        tools=len(definitions),
        bytes=len(text.encode()),
        tokens=round(len(text) / MODEL_CHARACTERS_PER_TOKEN),
    )


def check_shapes() -> None:
    """Checks that calls do the work that is timed."""
    coerced = model_tools.coerce_tool_args(ECHO, string_args())
    if coerced != native_args():
        raise SystemExit(f"coercion of the string arguments returned {coerced}, not {native_args()}")
    for name, arguments in ((ECHO, native_args()), (ECHO, string_args()), (NOOP, no_args())):
        result = call(name)(arguments)
        if result != RESULT:
            raise SystemExit(f"{name} returned {result}, not {RESULT}")


def measure_dispatch(quick: bool) -> None:
    n = 2000 if quick else 10000
    coerce = model_tools.coerce_tool_args
    register(ECHO, ECHO_SCHEMA)
    register(NOOP, NOOP_SCHEMA)
    check_shapes()
    request = {"name": ECHO, "arguments": native_args()}
    measure_calls("json_dumps_reference", lambda _: json.dumps(request), no_args, n)
    measure_calls("pipeline.no_args", call(NOOP), no_args, n)
    measure_calls("pipeline.native_args", call(ECHO), native_args, n)
    measure_calls("pipeline.string_args", call(ECHO), string_args, n)
    measure_calls("coerce.native", lambda value: coerce(ECHO, value), native_args, n)
    measure_calls("coerce.strings", lambda value: coerce(ECHO, value), string_args, n)
    fill_registry(100)
    measure_calls("pipeline.100_tools", call(ECHO), native_args, n)
    fill_registry(10_000)
    measure_calls("pipeline.10000_tools", call(ECHO), native_args, n)


LINE = "the quick brown fox jumps over the lazy dog, and the line goes on to its end\n"
GIGABYTE = 1_000_000_000


def measure_files(directory: Path, quick: bool) -> None:
    """Measures the file tools on the data of `bench_files`, each call in its own task, so that
    no result comes from a cache."""
    few, many = (1, 3) if quick else (3, 15)
    tasks = count()

    def tool(name: str, **arguments: object) -> Callable[[], object]:
        def run() -> None:
            answer = model_tools.handle_function_call(
                name, dict(arguments), task_id=f"bench-{next(tasks)}", session_id="bench"
            )
            if not answer:
                raise SystemExit(f"{name} returned an empty result")

        return run

    big = directory / "big.txt"
    block = LINE * 10_000
    with big.open("w", encoding="utf-8") as file:
        for _ in range(GIGABYTE // len(block)):
            file.write(block)
    lines = (GIGABYTE // len(block)) * 10_000
    measure_plain("files.read_first_page", tool("read_file", path=str(big), offset=1), few)
    deep = tool("read_file", path=str(big), offset=lines - 1000)
    measure_plain("files.read_deep_page", deep, few)
    big.unlink()
    written = directory / "one.txt"
    write = tool("write_file", path=str(written), content=LINE * (1_000_000 // len(LINE)))
    measure_plain("files.write_1mb", write, many, before=lambda: written.unlink(missing_ok=True))
    source = directory / "source.txt"
    text = "".join(f"line {n} says something of its own\n" for n in range(10_000))
    patch = tool(
        "patch",
        mode="replace",
        path=str(source),
        old_string="line 7777 says something of its own",
        new_string="line 7777 has been changed",
    )
    measure_plain("files.patch_10k_lines", patch, many, before=lambda: source.write_text(text))
    miss = tool(
        "patch",
        mode="replace",
        path=str(source),
        old_string="line 7777 says something of its owm\nline 7778 said something\n",
        new_string="x",
    )
    measure_plain("files.patch_no_match", miss, few, before=lambda: source.write_text(text))
    tree = directory / "tree"
    for number in range(500):
        module = tree / f"pkg{number % 50:02}/mod{number:03}"
        module.mkdir(parents=True)
        for file_number in range(100):
            content = LINE * (5 + (number * 7 + file_number * 13) % 40)
            if file_number == 42:
                content += "here is the needle_in_question\n"
            (module / f"file_{file_number}.rs").write_text(content)
    content = tool("search_files", pattern="needle_in_[a-z]+", path=str(tree), limit=1000)
    measure_plain("files.search_content", content, few)
    names = tool("search_files", pattern="file_42.rs", target="files", path=str(tree), limit=1000)
    measure_plain("files.search_names", names, few)


PRINT_GIGABYTE = "head -c 1000000000 /dev/zero | tr '\\0' x | fold -w 100"


def measure_terminal(quick: bool) -> None:
    """Measures commands as the original's agent runs them, in one prepared environment, without
    the agent's delay between two calls (one second by default)."""
    from run_agent import AIAgent

    # The port is closed; no model request is made.
    agent = AIAgent(
        base_url="http://127.0.0.1:9/v1",
        api_key="none",
        model="none",
        quiet_mode=True,
        tool_delay=0.0,
    )

    def batch(*commands: str) -> Callable[[], object]:
        def call(number: int, command: str) -> SimpleNamespace:
            arguments = json.dumps({"command": command, "timeout": 600})
            function = SimpleNamespace(name="terminal", arguments=arguments)
            return SimpleNamespace(id=f"call_{number}", type="function", function=function)

        def run() -> None:
            calls = [call(*numbered) for numbered in enumerate(commands)]
            messages: list[Arguments] = []
            message = SimpleNamespace(content="", tool_calls=calls)
            agent._execute_tool_calls(message, messages, "bench")
            codes = [json.loads(answer["content"]).get("exit_code") for answer in messages]
            if codes != [0] * len(commands):
                raise SystemExit(f"{commands} exited with {codes}")

        return run

    batch("true")()
    measure_plain("terminal.true", batch("true"), 10 if quick else 60)
    measure_plain("terminal.shell", batch("true; true"), 10 if quick else 60)
    measure_plain("terminal.eight_sleeps", batch(*["sleep 0.5"] * 8), 1)
    before = peak_memory()
    measure_plain("terminal.gigabyte", batch(PRINT_GIGABYTE), 1)
    emit("terminal.memory", growth_bytes=peak_memory() - before)


def measure_code(directory: Path, quick: bool) -> None:
    """Measures scripts as the original's agent runs them. A script may make at most fifty calls,
    so the call rate is not measured."""
    from tools.code_execution_tool import execute_code

    for number in range(40):
        (directory / f"{number}.txt").write_text("a line of its own\n" * 100)
    tasks = count()

    def script(code: str) -> Callable[[], object]:
        def run() -> None:
            answer = json.loads(execute_code(code, task_id=f"bench-{next(tasks)}"))
            if answer.get("status") != "success":
                raise SystemExit(f"the script failed: {answer}")

        return run

    measure_plain("code.empty_script", script("pass"), 2 if quick else 10)
    reading = (
        "from hermes_tools import read_file\n"
        f"for n in range(40): read_file(path={str(directory)!r} + f'/{{n}}.txt')"
    )
    measure_plain("code.read_files", script(reading), 1 if quick else 3)


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--files", type=Path, help="measure the file tools in this directory")
    parser.add_argument("--terminal", action="store_true", help="measure the terminal")
    parser.add_argument("--code", type=Path, help="measure scripts in this directory")
    options = parser.parse_args()
    quick = options.quick
    if options.terminal:
        measure_terminal(quick)
        return
    if options.code is not None:
        measure_code(options.code, quick)
        return
    if options.files is not None:
        measure_files(options.files, quick)
        return
    measure_definitions(quick)
    measure_schemas()
    measure_dispatch(quick)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Measures `hermes` against the original and writes results.json and RESULTS.md."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness import inprocess, isolation, machine, report, schemas, startup, targets
from harness.cases import TOOLSET, Side, start_up_cases
from harness.process import CommandFailed, try_out

BENCH = Path(__file__).resolve().parent
REPOSITORY = BENCH.parent
VENV = BENCH / ".venv"
IN_PROCESS_ROUNDS = 5
IN_PROCESS_ROUNDS_QUICK = 2
EXAMPLES = REPOSITORY / "target/release/examples"
BUILD = "the command that bench/README.md shows"


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, for a first look")
    parser.add_argument("--out", type=Path, default=BENCH, help="folder for the two result files")
    parser.add_argument("--hermes", type=Path, default=REPOSITORY / "target/release/hermes")
    parser.add_argument(
        "--engine", type=Path, default=EXAMPLES / "bench_engine"
    )
    parser.add_argument(
        "--spawn", type=Path, default=EXAMPLES / "bench_spawn"
    )
    parser.add_argument(
        "--proxy", type=Path, default=EXAMPLES / "bench_proxy"
    )
    parser.add_argument(
        "--files", type=Path, default=EXAMPLES / "bench_files"
    )
    parser.add_argument(
        "--terminal", type=Path, default=EXAMPLES / "bench_terminal"
    )
    parser.add_argument(
        "--code", type=Path, default=EXAMPLES / "bench_code"
    )
    parser.add_argument("--rg", type=Path, help="ripgrep, to measure searches against")
    parser.add_argument("--no-original", action="store_true", help="measure `hermes` alone")
    parser.add_argument("--date", help="date to print in the results; today if left out")
    options = parser.parse_args()
    # Measured programs run in a folder of their own.
    for name in ("out", "hermes", "engine", "spawn", "proxy", "files", "terminal", "code"):
        setattr(options, name, getattr(options, name).resolve())
    return options


def missing_parts(options: argparse.Namespace) -> list[str]:
    messages = []
    for path in (options.hermes, options.engine):
        if not (path.is_file() and os.access(path, os.X_OK)):
            messages.append(f"{path.name} is not at {path}; build it with {BUILD}")
    if not options.no_original and not (VENV / "bin/hermes").is_file():
        messages.append("the original is not installed; run bench/setup.sh, or pass --no-original")
    return messages


def say(message: str) -> None:
    print(f"bench: {message}", file=sys.stderr, flush=True)


class Recorder:
    """Follows a run: shows its progress and keeps the highest load seen on the way."""

    def __init__(self) -> None:
        self.start = machine.load_average()
        self.highest = self.start[0]

    def note(self, message: str) -> None:
        self.highest = max(self.highest, machine.load_average()[0])
        say(message)

    def loads(self) -> dict[str, object]:
        end = machine.load_average()
        return {"start": self.start, "end": end, "highest": max(self.highest, end[0])}


def measure(options: argparse.Namespace, network: str, work: Path) -> dict[str, object]:
    venv = None if options.no_original else VENV
    recorder = Recorder()
    ours = isolation.clean_environment(
        isolation.make_home(work / "hermes", for_original=False), network
    )
    theirs = isolation.clean_environment(
        isolation.make_home(work / "original", for_original=True), network
    )
    environments = {Side.REFERENCE: theirs, Side.HERMES: ours, Side.ORIGINAL: theirs}

    cases = start_up_cases(shutil.which("true") or "/bin/true", options.hermes, venv)
    effort = startup.QUICK if options.quick else startup.FULL
    start_up = startup.measure(cases, environments, effort, recorder.note)

    spawn = spawns(options, ours)
    recorder.note("spawns measured")
    proxy = proxied(options, ours)
    recorder.note("proxy measured")

    files = file_tools(options, venv, ours, theirs, work)
    recorder.note("file tools measured")

    terminal = commands(options, venv, ours, theirs, work)
    recorder.note("terminal measured")

    code = scripts(options, venv, ours, theirs, work)
    recorder.note("scripts measured")

    agent = agents(options, ours)
    recorder.note("agent measured")

    servers = mcp_servers(options, work)
    recorder.note("MCP servers measured")

    programs = in_process_programs(options, venv, ours, theirs)
    rounds = IN_PROCESS_ROUNDS_QUICK if options.quick else IN_PROCESS_ROUNDS
    inprocess.measure(programs, rounds, recorder.note)

    metrics = {program.name: program.metrics() for program in programs}
    theirs_in_prompt = metrics.get("original", {}).pop(f"schemas.{TOOLSET}", None)
    results: dict[str, object] = {
        "schema_version": 1,
        "date": options.date or datetime.date.today().isoformat(),
        "quick": options.quick,
        "hermes": first_line([str(options.hermes), "--version"], ours),
        "original": first_line([str(VENV / "bin/hermes"), "--version"], theirs) if venv else None,
        "network": network,
        "machine": machine.describe(venv / "bin/python" if venv else None),
        "binary_bytes": options.hermes.stat().st_size,
        "load_average": recorder.loads(),
        "cpu_seconds": cpu_seconds(start_up, programs),
        "start_up": start_up,
        "in_process": metrics,
        "spawn": spawn,
        "proxy": proxy,
        "files": files,
        "terminal": terminal,
        "code": code,
        "agent": agent,
        "mcp": servers,
        "schemas": {
            "hermes": schemas.cost_of(TOOLSET, options.hermes, ours),
            "original": theirs_in_prompt,
        },
        "remarks": remarks(options, programs),
    }
    results["targets"] = targets.judge_all(results)
    return results


def spawns(options: argparse.Namespace, environment: dict[str, str]) -> dict[str, object] | None:
    """A bare child and a confined one, started by turns from a parent of 20 MB."""
    if not options.spawn.is_file():
        return None
    line = first_line([str(options.spawn)], environment)
    everything = json.loads(line) if line else {}
    usual = everything.get("parent_20_mb", {})
    return {**everything, "ratio": usual.get("ratio"), "namespace_ratio": usual.get("with_namespace_ratio")}


def proxied(options: argparse.Namespace, environment: dict[str, str]) -> dict[str, object] | None:
    """A request on loopback, direct and through the proxy of a session."""
    if not options.proxy.is_file():
        return None
    line = first_line([str(options.proxy)], environment)
    return json.loads(line) if line else None


def file_tools(
    options: argparse.Namespace,
    venv: Path | None,
    ours: dict[str, str],
    theirs: dict[str, str],
    work: Path,
) -> dict[str, dict[str, Any]] | None:
    """The file tools against the same work by hand, and against the original's."""
    if not options.files.is_file():
        return None
    rg = options.rg or shutil.which("rg")
    quick = {"HERMES_BENCH_QUICK": "1"} if options.quick else {}
    environment = {**ours, **quick, **({"RG": str(Path(rg).resolve())} if rg else {})}
    found = metrics_of([str(options.files), str(work)], environment)
    if venv is not None:
        folder = work / "original-files"
        folder.mkdir()
        command = [str(venv / "bin/python"), str(BENCH / "original.py"), "--files", str(folder)]
        for name, values in metrics_of(command + ["--quick"] * options.quick, theirs).items():
            if name in found:
                found[name]["original_us"] = values["p50_us"]
    return found


def commands(
    options: argparse.Namespace,
    venv: Path | None,
    ours: dict[str, str],
    theirs: dict[str, str],
    work: Path,
) -> dict[str, dict[str, Any]] | None:
    """Commands against a bare shell, by turns, and against the original's terminal."""
    if not options.terminal.is_file():
        return None
    quick = {"HERMES_BENCH_QUICK": "1"} if options.quick else {}
    found = metrics_of([str(options.terminal), str(work)], {**ours, **quick})
    if venv is not None:
        command = [str(venv / "bin/python"), str(BENCH / "original.py"), "--terminal"]
        for name, values in metrics_of(command + ["--quick"] * options.quick, theirs).items():
            for field in ("p50_us", "growth_bytes"):
                if name in found and field in values:
                    found[name][f"original_{field.removeprefix('p50_')}"] = values[field]
    return found


def scripts(
    options: argparse.Namespace,
    venv: Path | None,
    ours: dict[str, str],
    theirs: dict[str, str],
    work: Path,
) -> dict[str, dict[str, Any]] | None:
    """Scripts against the bare interpreter, by turns, and against the original's."""
    if not options.code.is_file():
        return None
    quick = {"HERMES_BENCH_QUICK": "1"} if options.quick else {}
    found = metrics_of([str(options.code), str(work)], {**ours, **quick})
    if venv is not None:
        folder = work / "original-code"
        folder.mkdir()
        command = [str(venv / "bin/python"), str(BENCH / "original.py"), "--code", str(folder)]
        for name, values in metrics_of(command + ["--quick"] * options.quick, theirs).items():
            if name in found:
                found[name]["original_us"] = values["p50_us"]
    return found


def agents(options: argparse.Namespace, ours: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Turns and conversations, with a model that plays a script."""
    found: dict[str, dict[str, Any]] = {}
    messages = "10000" if options.quick else "100000"
    work = [
        (EXAMPLES / "model_server", [sys.executable, str(BENCH / "agent.py")]),
        (EXAMPLES / "bench_delegation", [str(EXAMPLES / "bench_delegation"), "100"]),
        (EXAMPLES / "bench_history", [str(EXAMPLES / "bench_history"), messages]),
    ]
    for needed, command in work:
        if needed.is_file():
            found |= metrics_of(command, ours)
    return found


def mcp_servers(options: argparse.Namespace, work: Path) -> list[dict[str, Any]]:
    """Our MCP server beside others, each called one by one and by 32 at once."""
    out = work / "mcp.jsonl"
    calls = "200" if options.quick else "2000"
    command = [sys.executable, str(BENCH / "mcp.py"), "-n", calls, "--json", str(out)]
    try:
        try_out(command, dict(os.environ))
    except CommandFailed as failure:
        say(f"{command[1]} failed: {failure}")
        return []
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def metrics_of(command: list[str], environment: dict[str, str]) -> dict[str, dict[str, Any]]:
    try:
        lines = try_out(command, environment).splitlines()
    except CommandFailed as failure:
        say(f"{command[0]} failed: {failure}")
        return {}
    parsed = [json.loads(line) for line in lines if line.startswith("{")]
    return {entry["metric"]: entry for entry in parsed if "metric" in entry}


def in_process_programs(
    options: argparse.Namespace, venv: Path | None, ours: dict[str, str], theirs: dict[str, str]
) -> list[inprocess.Program]:
    engine_environment = {**ours, "HERMES_BENCH_QUICK": "1"} if options.quick else ours
    programs = [inprocess.Program("hermes", [str(options.engine)], engine_environment)]
    if venv is not None:
        command = [str(venv / "bin/python"), str(BENCH / "original.py")]
        programs.append(
            inprocess.Program("original", command + ["--quick"] * options.quick, theirs)
        )
    return programs


def cpu_seconds(
    start_up: dict[str, dict[str, Any]], programs: list[inprocess.Program]
) -> dict[str, float]:
    spent: dict[str, float] = {}
    for case in start_up.values():
        side = str(case["side"])
        spent[side] = spent.get(side, 0.0) + case["cpu_total_s"]
    for program in programs:
        spent[program.name] = spent.get(program.name, 0.0) + program.cpu_s
    return {side: round(seconds, 3) for side, seconds in spent.items()}


def remarks(options: argparse.Namespace, programs: list[inprocess.Program]) -> list[str]:
    found = [
        f"In-process figures of {program.name} are incomplete: {program.failure}."
        for program in programs
        if program.failure is not None
    ]
    if options.quick:
        found.append("A quick run: too few repetitions to quote.")
    if options.no_original:
        found.append("The original was left out of this run.")
    return found


def first_line(command: list[str], environment: dict[str, str]) -> str | None:
    try:
        return (try_out(command, environment).splitlines() or [""])[0] or None
    except CommandFailed:
        return None


def main() -> int:
    options = parse_options()
    problems = missing_parts(options)
    if problems:
        for problem in problems:
            say(problem)
        return 2
    network = isolation.leave_network()
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
        work = Path(folder).resolve()
        (work / "empty").mkdir()
        os.chdir(work / "empty")
        try:
            results = measure(options, network, work)
        finally:
            os.chdir(REPOSITORY)
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2, ensure_ascii=False)
    (options.out / "results.json").write_text(text + "\n", encoding="utf-8")
    (options.out / "RESULTS.md").write_text(report.render(results), encoding="utf-8")
    say(f"wrote results.json and RESULTS.md in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

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
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, as a check that it works")
    parser.add_argument("--out", type=Path, default=BENCH, help="directory for the two result files")
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
    parser.add_argument("--date", help="date to print in the results; by default today")
    options = parser.parse_args()
    # Measured programs run in another directory.
    for name in ("out", "hermes", "engine", "spawn", "proxy", "files", "terminal", "code"):
        setattr(options, name, getattr(options, name).resolve())
    return options


def missing_parts(options: argparse.Namespace) -> list[str]:
    messages = []
    for path in (options.hermes, options.engine):
        if not (path.is_file() and os.access(path, os.X_OK)):
            messages.append(f"{path.name} does not exist at {path}; build it with {BUILD}")
    if not options.no_original and not (VENV / "bin/hermes").is_file():
        messages.append("the original is not installed; run bench/setup.sh, or pass --no-original")
    return messages


def log(message: str) -> None:
    print(f"bench: {message}", file=sys.stderr, flush=True)


class Recorder:
    """Prints the progress of a run and records its highest load average."""

    def __init__(self) -> None:
        self.start = machine.load_average()
        self.highest = self.start[0]

    def note(self, message: str) -> None:
        self.highest = max(self.highest, machine.load_average()[0])
        log(message)

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

    spawn = measure_spawn(options, ours)
    recorder.note("spawns measured")
    proxy = measure_proxy(options, ours)
    recorder.note("proxy measured")

    files = measure_files(options, venv, ours, theirs, work)
    recorder.note("file tools measured")

    terminal = measure_terminal(options, venv, ours, theirs, work)
    recorder.note("terminal measured")

    code = measure_code(options, venv, ours, theirs, work)
    recorder.note("scripts measured")

    agent = measure_agent(options, ours)
    recorder.note("agent measured")

    servers = measure_mcp(options, work)
    recorder.note("MCP servers measured")

    programs = in_process_programs(options, venv, ours, theirs)
    rounds = IN_PROCESS_ROUNDS_QUICK if options.quick else IN_PROCESS_ROUNDS
    inprocess.measure(programs, rounds, recorder.note)

    metrics = {program.name: program.metrics() for program in programs}
    original_schemas = metrics.get("original", {}).pop(f"schemas.{TOOLSET}", None)
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
            "original": original_schemas,
        },
        "remarks": remarks(options, programs),
    }
    results["targets"] = targets.evaluate_all(results)
    return results


def measure_spawn(options: argparse.Namespace, environment: dict[str, str]) -> dict[str, object] | None:
    """Measures a bare and a sandboxed child process, alternating, from a parent of 20 MB."""
    if not options.spawn.is_file():
        return None
    line = first_line([str(options.spawn)], environment)
    figures = json.loads(line) if line else {}
    usual = figures.get("parent_20_mb", {})
    return {**figures, "ratio": usual.get("ratio"), "namespace_ratio": usual.get("with_namespace_ratio")}


def measure_proxy(options: argparse.Namespace, environment: dict[str, str]) -> dict[str, object] | None:
    """Measures a request on loopback, direct and through the proxy of a session."""
    if not options.proxy.is_file():
        return None
    line = first_line([str(options.proxy)], environment)
    return json.loads(line) if line else None


def measure_files(
    options: argparse.Namespace,
    venv: Path | None,
    ours: dict[str, str],
    theirs: dict[str, str],
    work: Path,
) -> dict[str, dict[str, Any]] | None:
    """Measures the file tools against the same work by hand, and against the original."""
    if not options.files.is_file():
        return None
    rg = options.rg or shutil.which("rg")
    quick = {"HERMES_BENCH_QUICK": "1"} if options.quick else {}
    environment = {**ours, **quick, **({"RG": str(Path(rg).resolve())} if rg else {})}
    metrics = read_metrics([str(options.files), str(work)], environment)
    if venv is not None:
        directory = work / "original-files"
        directory.mkdir()
        command = [str(venv / "bin/python"), str(BENCH / "original.py"), "--files", str(directory)]
        for name, values in read_metrics(command + ["--quick"] * options.quick, theirs).items():
            if name in metrics:
                metrics[name]["original_us"] = values["p50_us"]
    return metrics


def measure_terminal(
    options: argparse.Namespace,
    venv: Path | None,
    ours: dict[str, str],
    theirs: dict[str, str],
    work: Path,
) -> dict[str, dict[str, Any]] | None:
    """Measures commands, alternating with a bare shell, and against the original."""
    if not options.terminal.is_file():
        return None
    quick = {"HERMES_BENCH_QUICK": "1"} if options.quick else {}
    metrics = read_metrics([str(options.terminal), str(work)], {**ours, **quick})
    if venv is not None:
        command = [str(venv / "bin/python"), str(BENCH / "original.py"), "--terminal"]
        for name, values in read_metrics(command + ["--quick"] * options.quick, theirs).items():
            for field in ("p50_us", "growth_bytes"):
                if name in metrics and field in values:
                    metrics[name][f"original_{field.removeprefix('p50_')}"] = values[field]
    return metrics


def measure_code(
    options: argparse.Namespace,
    venv: Path | None,
    ours: dict[str, str],
    theirs: dict[str, str],
    work: Path,
) -> dict[str, dict[str, Any]] | None:
    """Measures scripts, alternating with a bare interpreter, and against the original."""
    if not options.code.is_file():
        return None
    quick = {"HERMES_BENCH_QUICK": "1"} if options.quick else {}
    metrics = read_metrics([str(options.code), str(work)], {**ours, **quick})
    if venv is not None:
        directory = work / "original-code"
        directory.mkdir()
        command = [str(venv / "bin/python"), str(BENCH / "original.py"), "--code", str(directory)]
        for name, values in read_metrics(command + ["--quick"] * options.quick, theirs).items():
            if name in metrics:
                metrics[name]["original_us"] = values["p50_us"]
    return metrics


def measure_agent(options: argparse.Namespace, ours: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Measures turns, sub-agents and the history, with a scripted model."""
    metrics: dict[str, dict[str, Any]] = {}
    messages = "10000" if options.quick else "100000"
    programs = [
        (EXAMPLES / "model_server", [sys.executable, str(BENCH / "agent.py")]),
        (EXAMPLES / "bench_delegation", [str(EXAMPLES / "bench_delegation"), "100"]),
        (EXAMPLES / "bench_history", [str(EXAMPLES / "bench_history"), messages]),
    ]
    for program, command in programs:
        if program.is_file():
            metrics |= read_metrics(command, ours)
    return metrics


def measure_mcp(options: argparse.Namespace, work: Path) -> list[dict[str, Any]]:
    """Measures MCP servers, each with sequential calls and with 32 at once."""
    out = work / "mcp.jsonl"
    calls = "200" if options.quick else "2000"
    command = [sys.executable, str(BENCH / "mcp.py"), "-n", calls, "--json", str(out)]
    try:
        try_out(command, dict(os.environ))
    except CommandFailed as failure:
        log(f"{command[1]} failed: {failure}")
        return []
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def read_metrics(command: list[str], environment: dict[str, str]) -> dict[str, dict[str, Any]]:
    try:
        lines = try_out(command, environment).splitlines()
    except CommandFailed as failure:
        log(f"{command[0]} failed: {failure}")
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
    messages = [
        f"In-process figures of {program.name} are incomplete: {program.failure}."
        for program in programs
        if program.failure is not None
    ]
    if options.quick:
        messages.append("This is a quick run, with too few repetitions to quote.")
    if options.no_original:
        messages.append("The original was not measured in this run.")
    return messages


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
            log(problem)
        return 2
    network = isolation.leave_network()
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as directory:
        work = Path(directory).resolve()
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
    log(f"wrote results.json and RESULTS.md in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Measures the agent: the time of a turn without the model, and the memory of an idle chat.

    python3 bench/agent.py [-n 200]

The model is a scripted server on loopback; its time is part of the figures. Prints a line of
JSON for each figure. `run.py` runs this program too; `README.md` says what to build.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", type=int, default=200, help="turns of one task")
    parser.add_argument("--rounds", type=int, default=5, help="number of measurements")
    parser.add_argument("--hermes", type=Path, default=REPOSITORY / "target/release/hermes")
    parser.add_argument(
        "--server", type=Path, default=REPOSITORY / "target/release/examples/model_server"
    )
    return parser.parse_args()


def tool_call(turn: int) -> dict[str, object]:
    arguments = json.dumps({"path": "a.txt", "offset": turn % 90 + 1, "limit": 5})
    step = {"call": {"name": "read_file", "arguments": arguments}}
    return {"steps": [step, {"usage": {"input": 1000, "output": 10}}]}


def run_task(options: argparse.Namespace, home: Path, turns: int) -> float:
    """Runs a task of that many turns; returns the seconds it takes."""
    script = home / "script.json"
    replies = [tool_call(turn) for turn in range(turns - 1)] + [{"steps": [{"text": "Done."}]}]
    script.write_text(json.dumps(replies), encoding="utf-8")
    server = subprocess.Popen([options.server, script], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        settings = f"model:\n  default: scripted\n  base_url: {url}\n  context_length: 4000000\n"
        (home / "config.yaml").write_text(settings, encoding="utf-8")
        environment = {"HERMES_HOME": str(home), "HOME": str(home), "PATH": os.environ["PATH"]}
        command = [options.hermes, "--json", "run", "--max-turns", str(turns + 5), "Read it"]
        started_at = time.perf_counter()
        result = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)
        seconds = time.perf_counter() - started_at
        last = json.loads(result.stdout.splitlines()[-1])
        if result.returncode != 0 or last["turns"] != turns:
            raise RuntimeError(f"the task failed with exit code {result.returncode}: {last} {result.stderr}")
        return seconds
    finally:
        server.kill()
        server.wait()


def idle_chat(options: argparse.Namespace, home: Path) -> int:
    """Returns the resident bytes of a chat that waits for its first line."""
    script = home / "script.json"
    script.write_text("[]", encoding="utf-8")
    server = subprocess.Popen([options.server, script], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    settings = f"model:\n  default: scripted\n  base_url: {url}\n  context_length: 32000\n"
    (home / "config.yaml").write_text(settings, encoding="utf-8")
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        os.environ.update(HERMES_HOME=str(home), HOME=str(home), TERM="xterm-256color")
        os.execv(options.hermes, ["hermes"])
    try:
        output = b""
        while b"/help" not in output:
            output += os.read(terminal, 65536)
        time.sleep(1.0)
        status = Path(f"/proc/{child}/status").read_text(encoding="utf-8")
        resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(resident.split()[1]) * 1024
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        server.kill()
        server.wait()


def main() -> int:
    options = parse_options()
    for program in (options.hermes, options.server):
        if not program.is_file():
            print(f"{program} does not exist; bench/README.md says how to build it", file=sys.stderr)
            return 2
    turn_ms, task_ms = [], []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as directory:
            home = Path(directory)
            (home / "a.txt").write_text("a line\n" * 200, encoding="utf-8")
            one = run_task(options, home, 1)
            many = run_task(options, home, options.n)
            task_ms.append(one * 1e3)
            turn_ms.append((many - one) / (options.n - 1) * 1e3)
    with tempfile.TemporaryDirectory() as directory:
        idle = idle_chat(options, Path(directory))
    figures = {
        "agent.turn": {"p50_ms": statistics.median(turn_ms), "n": options.n},
        "agent.task": {"p50_ms": statistics.median(task_ms), "n": options.rounds},
        "agent.idle_chat": {"bytes": idle},
    }
    for metric, values in figures.items():
        print(json.dumps({"metric": metric, **values}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

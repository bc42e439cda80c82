#!/usr/bin/env python3
"""Measures `hermes mcp serve` beside other MCP servers that answer with what they were told.

    python3 bench/mcp.py [-n 2000] [--json OUT]

The Python and TypeScript servers are those of the official SDKs; --venv and --modules name
where they are installed (`scripts/components/mcp.sh start target/components/mcp` and
`bench/setup.sh mcp`). What is missing is left out, and said so.
`run.py` runs it too; `README.md` says what has to be built.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import tempfile
from pathlib import Path

from harness import mcp_load
from harness.mcp_load import LEGACY, MODERN, Target

BENCH = Path(__file__).resolve().parent
REPOSITORY = BENCH.parent
COMPONENTS = REPOSITORY / "target/components/mcp"


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", type=int, default=2000, help="calls in each row")
    parser.add_argument("-c", default="1,32", help="how many at once, such as 1,32")
    parser.add_argument("--hermes", type=Path, default=REPOSITORY / "target/release/hermes")
    parser.add_argument(
        "--bare", type=Path, default=REPOSITORY / "target/release/examples/echo_server"
    )
    parser.add_argument("--venv", type=Path, default=COMPONENTS / "venv")
    parser.add_argument("--node", default="node", help="Node.js")
    parser.add_argument("--modules", type=Path, default=BENCH / ".node/node_modules")
    parser.add_argument("--quick", action="store_true", help="few calls: to see that it works")
    parser.add_argument("--only", default="", help="only servers whose name has this in it")
    parser.add_argument("--json", type=Path, help="a file for the figures, a line each")
    return parser.parse_args()


def targets(options: argparse.Namespace, home: Path) -> list[Target]:
    token = "0123456789abcdef0123456789abcdef"
    environment = {
        "HERMES_HOME": str(home),
        "HOME": str(home),
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "BENCH_TOKEN": token,
    }
    shown = {"Authorization": f"Bearer {token}"}
    hermes = [str(options.hermes), "mcp", "serve", "--toolsets", "all", "--cwd", str(home)]
    over_http = [*hermes, "--http", "127.0.0.1:0", "--token-env", "BENCH_TOKEN"]
    echo = {"message": "hello"}
    found: list[Target] = []

    def both(name: str, command: list[str], url: str | None, **more: object) -> None:
        given = {"tool": "echo", "arguments": echo, "environment": environment, **more}
        for era, protocol in (("", LEGACY), ("-2026", MODERN)):
            found.append(Target(name + era, command, protocol=protocol, url=url, **given))

    def missing(name: str, place: Path) -> None:
        print(f"left out: {name}, which is not at {place}", file=sys.stderr)

    if options.hermes.is_file():
        # The cheapest tool there is, through every stage of the pipeline.
        ours = {"tool": "todo", "arguments": {}}
        both("hermes-stdio", hermes, None, **ours)
        both("hermes-http", over_http, "", headers=shown, **ours)
    else:
        missing("hermes", options.hermes)
    if options.bare.is_file():
        both("rmcp-stdio", [str(options.bare)], None)
        both("rmcp-http", [str(options.bare), "http"], "")
    else:
        missing("rmcp", options.bare)
    python = options.venv / "bin/python"
    if python.exists():
        script = str(BENCH / "mcp_servers/echo.py")
        both("python-stdio", [str(python), script], None)
        both("python-http", [str(python), script, "18431"], "http://127.0.0.1:18431/mcp")
    else:
        missing("python", python)
    sdk = options.modules / "@modelcontextprotocol/server"
    if sdk.is_dir():
        command = [options.node, str(BENCH / "mcp_servers/echo.mjs"), str(options.modules)]
        both("typescript-stdio", command, None)
        both("typescript-http", [*command, "http"], "")
    else:
        missing("typescript", sdk)
    return [target for target in found if options.only in target.name]


def row(measured: mcp_load.Measured) -> str:
    cells = [measured.name, f"{measured.first_response_ms:.0f}"]
    for figures in measured.figures:
        cells += [
            f"{figures.rate_per_s:.0f}",
            f"{figures.p50_ms:.3f} / {figures.p99_ms:.3f}",
            f"{figures.cpu_ms_per_call:.3f}",
        ]
    cells.append(f"{measured.idle_bytes / 1e6:.0f} / {measured.peak_bytes / 1e6:.0f}")
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    options = parse_options()
    if options.quick:
        options.n = min(options.n, 200)
    concurrency = [int(number) for number in options.c.split(",")]
    header = ["server", "first response ms"]
    for at_once in concurrency:
        header += [f"{at_once} at once: calls/s", "p50 / p99 ms", "CPU ms/call"]
    header.append("MB idle / peak")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    lines = []
    with tempfile.TemporaryDirectory() as home:
        for target in targets(options, Path(home)):
            try:
                measured = mcp_load.measure(target, options.n, concurrency)
            except (mcp_load.ServerFailed, OSError) as failure:
                print(f"left out: {failure}", file=sys.stderr)
                continue
            print(row(measured), flush=True)
            lines.append(json.dumps(dataclasses.asdict(measured)))
    if options.json:
        options.json.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return 0 if lines else 2


if __name__ == "__main__":
    sys.exit(main())

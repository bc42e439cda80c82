#!/usr/bin/env python3
"""Measures `hermes mcp serve` beside MCP servers with an echo tool.

    python3 bench/mcp.py [-n 2000] [--json OUT]

The Python and TypeScript servers are those of the official SDKs; --venv and --modules name
where they are installed (`scripts/components/mcp.sh start target/components/mcp` and
`bench/setup.sh mcp`). Missing servers are skipped with a message.
`run.py` runs this program too; `README.md` says what to build.
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
    parser.add_argument("-n", type=int, default=2000, help="calls per measurement")
    parser.add_argument("-c", default="1,32", help="concurrent calls, such as 1,32")
    parser.add_argument("--hermes", type=Path, default=REPOSITORY / "target/release/hermes")
    parser.add_argument(
        "--bare", type=Path, default=REPOSITORY / "target/release/examples/echo_server"
    )
    parser.add_argument("--venv", type=Path, default=COMPONENTS / "venv")
    parser.add_argument("--node", default="node", help="the Node.js program")
    parser.add_argument("--modules", type=Path, default=BENCH / ".node/node_modules")
    parser.add_argument("--quick", action="store_true", help="few calls, as a check that it works")
    parser.add_argument("--only", default="", help="only servers whose name contains this")
    parser.add_argument("--json", type=Path, help="a file for the figures, one line per server")
    return parser.parse_args()


def find_targets(options: argparse.Namespace, home: Path) -> list[Target]:
    token = "0123456789abcdef0123456789abcdef"
    environment = {
        "HERMES_HOME": str(home),
        "HOME": str(home),
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "BENCH_TOKEN": token,
    }
    authorization = {"Authorization": f"Bearer {token}"}
    hermes = [str(options.hermes), "mcp", "serve", "--toolsets", "all", "--cwd", str(home)]
    over_http = [*hermes, "--http", "127.0.0.1:0", "--token-env", "BENCH_TOKEN"]
    echo = {"message": "hello"}
    targets: list[Target] = []

    def add(name: str, command: list[str], url: str | None, **overrides: object) -> None:
        fields = {"tool": "echo", "arguments": echo, "environment": environment, **overrides}
        for suffix, protocol in (("", LEGACY), ("-2026", MODERN)):
            targets.append(Target(name + suffix, command, protocol=protocol, url=url, **fields))

    def skip(name: str, path: Path) -> None:
        print(f"skipped {name}: {path} does not exist", file=sys.stderr)

    if options.hermes.is_file():
        # The cheapest tool, through every stage of the pipeline.
        cheapest = {"tool": "todo", "arguments": {}}
        add("hermes-stdio", hermes, None, **cheapest)
        add("hermes-http", over_http, "", headers=authorization, **cheapest)
    else:
        skip("hermes", options.hermes)
    if options.bare.is_file():
        add("rmcp-stdio", [str(options.bare)], None)
        add("rmcp-http", [str(options.bare), "http"], "")
    else:
        skip("rmcp", options.bare)
    python = options.venv / "bin/python"
    if python.exists():
        script = str(BENCH / "mcp_servers/echo.py")
        add("python-stdio", [str(python), script], None)
        add("python-http", [str(python), script, "18431"], "http://127.0.0.1:18431/mcp")
    else:
        skip("python", python)
    sdk = options.modules / "@modelcontextprotocol/server"
    if sdk.is_dir():
        command = [options.node, str(BENCH / "mcp_servers/echo.mjs"), str(options.modules)]
        add("typescript-stdio", command, None)
        add("typescript-http", [*command, "http"], "")
    else:
        skip("typescript", sdk)
    return [target for target in targets if options.only in target.name]


def row(measured: mcp_load.Measurement) -> str:
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
        for target in find_targets(options, Path(home)):
            try:
                measured = mcp_load.measure(target, options.n, concurrency)
            except (mcp_load.ServerFailed, OSError) as failure:
                print(f"skipped {failure}", file=sys.stderr)
                continue
            print(row(measured), flush=True)
            lines.append(json.dumps(dataclasses.asdict(measured)))
    if options.json:
        options.json.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return 0 if lines else 2


if __name__ == "__main__":
    sys.exit(main())

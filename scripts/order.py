#!/usr/bin/env python3
"""Write down which functions the program runs before it waits for somebody.

    HERMES_SYMBOLS=1 cargo build --release
    scripts/order.py [PROGRAM] > crates/cli/data/startup.order

The linker puts them side by side (crates/cli/build.rs). The system maps a
program in pieces of sixteen pages, so a few thousand functions that lie
scattered over forty megabytes bring half of it into memory. PROGRAM has its
symbols; valgrind tells what was run. Their names depend on features and
profile, so the libraries have to be those of a plain release build. Names that a
later compiler or a later change no longer knows do no harm; make the file anew
before a release, and when `bench/run.py` shows that memory at rest has grown.
"""

import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "order", "version": "1"},
}
COPY = re.compile(r"'\d+$")


def valgrind(out: Path, program: str, *arguments: str) -> list[str]:
    return [
        "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--demangle=no",
        "--compress-strings=no", "--compress-pos=no", program, *arguments,
    ]  # fmt: skip


def brief(out: Path, program: str, *arguments: str) -> None:
    subprocess.run(valgrind(out, program, *arguments), capture_output=True, check=False)


def served(out: Path, program: str) -> None:
    """A server that is greeted, tells its tools and reads a file."""
    command = valgrind(out, program, "mcp", "serve", "--toolsets", "all")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        Path("some.txt").write_text("some text\n", encoding="utf-8")
        call = {"name": "read_file", "arguments": {"path": "some.txt"}}
        for number, (method, parameters) in enumerate(
            [("initialize", INITIALIZE), ("tools/list", {}), ("tools/call", call)]
        ):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
            server.stdin.write(json.dumps(message) + "\n")
            server.stdin.flush()
            server.stdout.readline()
        server.stdin.close()


def chatted(out: Path, program: str) -> None:
    """A conversation that is opened and left."""
    settings = "model: {default: none, base_url: 'http://127.0.0.1:9/v1', context_length: 32000}\n"
    Path("config.yaml").write_text(settings, encoding="utf-8")
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        command = valgrind(out, program)
        os.execvp(command[0], command)
    seen = b""
    try:
        while b"/help" not in seen:
            seen += os.read(terminal, 65536)
        time.sleep(2)
        os.write(terminal, b"\x04")
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass
    os.waitpid(child, 0)


def functions(out: Path) -> list[str]:
    if not out.exists():
        return []
    lines = out.read_text(encoding="utf-8", errors="replace").splitlines()
    names = (COPY.sub("", line[3:]) for line in lines if line.startswith("fn="))
    return sorted({name for name in names if name.startswith("_")})


def main() -> int:
    program = str(Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/hermes").resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["HERMES_HOME"] = os.environ["HOME"] = folder
        runs = [Path(folder, name) for name in ("version", "list", "served", "chatted")]
        brief(runs[0], program, "--version")
        brief(runs[1], program, "tools", "list")
        served(runs[2], program)
        chatted(runs[3], program)
        # What every start needs comes first.
        told: dict[str, None] = {}
        for run in runs:
            found = functions(run)
            print(f"{run.name}: {len(found)} functions", file=sys.stderr)
            told.update(dict.fromkeys(found))
    sys.stdout.write("".join(f"{name}\n" for name in told))
    return 0


if __name__ == "__main__":
    sys.exit(main())

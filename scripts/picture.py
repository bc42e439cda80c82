#!/usr/bin/env python3
"""Runs commands on a real terminal and renders their output as an SVG.

usage: picture.py OUT.svg COMMAND...
Each command runs in bash on a separate pseudoterminal; its output follows a
prompt line.
"""

from __future__ import annotations

import html
import os
import pty
import re
import select
import struct
import fcntl
import sys
import termios
import unicodedata

COLUMNS, CELL, LINE, MARGIN = 104, 8.4, 19, 18
COLOURS = {"31": "#ff6b6b", "32": "#69db7c", "33": "#ffd43b", "36": "#66d9e8"}
PLAIN, DIM, BACK, PROMPT = "#dee2e6", "#868e96", "#16181d", "#69db7c"


def run(command: str) -> str:
    """Returns the output of a command on a terminal of COLUMNS columns."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.environ.pop("NO_COLOR", None)
        os.execvp("bash", ["bash", "-c", command])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    chunks: list[bytes] = []
    while select.select([terminal], [], [], 120)[0]:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    if os.waitpid(pid, 0)[1] != 0:
        sys.exit(f"error: `{command}` failed: {b''.join(chunks).decode()}")
    return b"".join(chunks).decode().replace("\r\n", "\n").rstrip("\n")


def spans(line: str) -> list[tuple[str, str, bool]]:
    """Splits a line into spans of one style: text, colour, bold."""
    found, colour, bold = [], PLAIN, False
    for text, code in re.findall(r"([^\x1b]*)(?:\x1b\[([0-9;]*)[mK])?", line):
        if text:
            found.append((text, colour, bold))
        for part in code.split(";") if code else []:
            if part in ("", "0"):
                colour, bold = PLAIN, False
            elif part == "1":
                bold = True
            elif part == "2":
                colour = DIM
            else:
                colour = COLOURS.get(part, colour)
    return found


def cells(text: str) -> int:
    """Returns the display width of a text in columns."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - text.count("\ufe0f")


def draw(lines: list[list[tuple[str, str, bool]]]) -> str:
    width, height = COLUMNS * CELL + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN + 22
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'viewBox="0 0 {width:.0f} {height}">',
        f'<rect width="100%" height="100%" rx="9" fill="{BACK}"/>',
        *(f'<circle cx="{MARGIN + 4 + i * 18}" cy="17" r="5.5" fill="{c}"/>'
          for i, c in enumerate(("#ff5f57", "#febc2e", "#28c840"))),
        '<g font-family="ui-monospace,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="14" '
        'xml:space="preserve">',
    ]
    for row, line in enumerate(lines):
        column, y = 0, MARGIN + 36 + row * LINE
        for text, colour, bold in line:
            weight = ' font-weight="bold"' if bold else ""
            out.append(f'<text x="{MARGIN + column * CELL:.1f}" y="{y}" fill="{colour}"{weight}>'
                       f"{html.escape(text)}</text>")
            column += cells(text)
    return "\n".join([*out, "</g>", "</svg>", ""])


def main() -> None:
    path, commands = sys.argv[1], sys.argv[2:]
    lines: list[list[tuple[str, str, bool]]] = []
    for command in commands:
        lines.append([("$ ", PROMPT, True), (command, PLAIN, True)])
        # Hides the local path.
        shown = run(command).replace(os.getcwd(), "~/hermes")
        lines += [spans(line) for line in shown.split("\n")]
        lines.append([])
    with open(path, "w", encoding="utf-8") as file:
        file.write(draw(lines[:-1]))


if __name__ == "__main__":
    main()

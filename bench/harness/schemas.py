"""Reads from `hermes` how many tokens the schemas of a toolset take in a prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.process import CommandFailed, try_out

_TOKEN_FIELDS = ("tokens_sent", "sent_tokens", "tokens", "total_tokens", "tokens_total")
# The narrowest command first; the last one works with every version.
_FLAGS = (("--toolset",), ("--toolsets",), ())


def cost_of(toolset: str, hermes: Path, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """Returns the toolset's entry with its `tokens`, or None if the command prints none."""
    for flag in _FLAGS:
        selection = [*flag, toolset] if flag else []
        command = [str(hermes), "tools", "list", *selection, "--cost", "--json"]
        try:
            document = json.loads(try_out(command, environment))
        except (CommandFailed, ValueError):
            continue
        for entry in _entries(document, toolset):
            tokens = _tokens(entry)
            if tokens is not None:
                return {**_sizes(entry), "tokens": tokens}
    return None


def _entries(value: object, toolset: str) -> Iterator[dict[str, Any]]:
    """Yields the objects about the toolset as a whole, so not the rows under `tools`."""
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, list):
            pending.extend(current)
        elif isinstance(current, dict):
            if toolset in (current.get("name"), current.get("toolset")):
                yield current
            keyed = current.get(toolset)
            if isinstance(keyed, dict):
                yield keyed
            elif _is_count(keyed):
                yield {"tokens": keyed}
            pending.extend(part for name, part in current.items() if name != "tools")


def _tokens(entry: Mapping[str, Any]) -> int | None:
    nested = entry.get("cost")
    for source in (entry, nested if isinstance(nested, dict) else {}):
        for name in _TOKEN_FIELDS:
            if _is_count(source.get(name)):
                return int(source[name])
    return None


def _sizes(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in ("tools", "bytes") if _is_count(entry.get(name))}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)

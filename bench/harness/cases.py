"""The measured cases. A new case needs only a row here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

TOOLSET = "hermes-cli"

_DEFINITIONS = "import model_tools; model_tools.get_tool_definitions(quiet_mode=True)"


class Side(Enum):
    REFERENCE = "reference"
    HERMES = "hermes"
    ORIGINAL = "original"


@dataclass(frozen=True)
class StartUp:
    """A command that is measured from start to exit."""

    key: str
    label: str
    side: Side
    command: tuple[str, ...]
    # Cases of hundreds of milliseconds run once per round, the others several times.
    slow: bool = False
    # For a case of `hermes`: the key of the original's equivalent.
    rival: str | None = None


@dataclass(frozen=True)
class InProcess:
    """One operation, measured by `bench_engine` for `hermes` and by `original.py`."""

    label: str
    ours: str
    theirs: str | None


def start_up_cases(true: str, hermes: Path, venv: Path | None) -> list[StartUp]:
    ours = str(hermes)
    cases = [
        StartUp("true", "`/bin/true`", Side.REFERENCE, (true,)),
        StartUp(
            "version",
            "`hermes --version`",
            Side.HERMES,
            (ours, "--version"),
            rival="original.version",
        ),
        StartUp(
            "tools_list",
            "`hermes tools list`",
            Side.HERMES,
            (ours, "tools", "list"),
            rival="original.tools_list",
        ),
        StartUp(
            "tools_list_json",
            "`hermes tools list --json`",
            Side.HERMES,
            (ours, "tools", "list", "--json"),
            rival="original.definitions",
        ),
    ]
    if venv is not None:
        python, theirs = str(venv / "bin/python"), str(venv / "bin/hermes")
        cases += [
            StartUp("python", "`python -c pass`", Side.REFERENCE, (python, "-c", "pass")),
            StartUp(
                "original.version",
                "`hermes --version`",
                Side.ORIGINAL,
                (theirs, "--version"),
                slow=True,
            ),
            StartUp(
                "original.tools_list",
                "`hermes tools list` (its toolsets)",
                Side.ORIGINAL,
                (theirs, "tools", "list"),
                slow=True,
            ),
            StartUp(
                "original.definitions",
                "`import model_tools` and `get_tool_definitions()`",
                Side.ORIGINAL,
                (python, "-c", _DEFINITIONS),
                slow=True,
            ),
        ]
    return cases


IN_PROCESS: tuple[InProcess, ...] = (
    InProcess("definitions of all tools, warm", "definitions.warm", "definitions.warm"),
    InProcess("definitions, first time in a process", "definitions.cold", "definitions.cold"),
    InProcess(
        "the same, against a recomputation with cached availability checks",
        "definitions.cold",
        "definitions.recompute",
    ),
    InProcess("one call, no arguments", "pipeline.no_args", "pipeline.no_args"),
    InProcess("one call, native arguments", "pipeline.native_args", "pipeline.native_args"),
    InProcess("one call, arguments as strings", "pipeline.string_args", "pipeline.string_args"),
    InProcess("one call, 100 tools registered", "pipeline.100_tools", "pipeline.100_tools"),
    InProcess("one call, 10,000 tools registered", "pipeline.10000_tools", "pipeline.10000_tools"),
    InProcess("coercion alone, native arguments", "coerce.native", "coerce.native"),
    InProcess("coercion alone, strings", "coerce.strings", "coerce.strings"),
    InProcess(
        "reference: the call written as JSON", "json_dumps_reference", "json_dumps_reference"
    ),
)

"""Compares the figures of a run with the project's targets; a missed target is no error."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.cases import TOOLSET
from harness.stats import ratio

Results = Mapping[str, object]


@dataclass(frozen=True)
class Target:
    name: str
    limit: float
    unit: str
    measure: Callable[[Results], float | None]
    # True for rates, where more is better.
    at_least: bool = False

    def evaluate(self, results: Results) -> dict[str, object]:
        measured = self.measure(results)
        compare = operator.ge if self.at_least else operator.le
        return {
            "what": self.name,
            "target": self.limit,
            "bound": "at least" if self.at_least else "at most",
            "unit": self.unit,
            "measured": measured,
            "met": None if measured is None else compare(measured, self.limit),
        }


def evaluate_all(results: Results) -> list[dict[str, object]]:
    return [target.evaluate(results) for target in TARGETS]


def _start_up(key: str, name: str) -> Callable[[Results], float | None]:
    return lambda results: _number(results, "start_up", key, name)


def _ours(metric: str, name: str) -> Callable[[Results], float | None]:
    return lambda results: _number(results, "in_process", "hermes", metric, name)


def _spawn(name: str) -> Callable[[Results], float | None]:
    return lambda results: _number(results, "spawn", name)


def _proxy(name: str) -> Callable[[Results], float | None]:
    return lambda results: _number(results, "proxy", name)


def _files(metric: str, name: str) -> Callable[[Results], float | None]:
    return lambda results: _number(results, "files", f"files.{metric}", name)


def _terminal(metric: str, name: str) -> Callable[[Results], float | None]:
    return lambda results: _number(results, "terminal", f"terminal.{metric}", name)


def _code(metric: str, name: str) -> Callable[[Results], float | None]:
    return lambda results: _number(results, "code", f"code.{metric}", name)


def _agent(metric: str, name: str) -> Callable[[Results], float | None]:
    return lambda results: _number(results, "agent", metric, name)


def _mcp(server: str, *path: str | int) -> Callable[[Results], float | None]:
    def measure(results: Results) -> float | None:
        rows = results.get("mcp")
        for value in rows if isinstance(rows, list) else []:
            if value["name"] == server:
                for key in path:
                    value = value[key]
                return float(value)
        return None

    return measure


def _scaled(measure: Callable[[Results], float | None], divisor: float) -> Callable[[Results], float | None]:
    def scaled(results: Results) -> float | None:
        measured = measure(results)
        return None if measured is None else measured / divisor

    return scaled


def _version_over_true(results: Results) -> float | None:
    return ratio(
        _start_up("version", "wall_p50_ms")(results), _start_up("true", "wall_p50_ms")(results)
    )


def _many_over_few_tools(results: Results) -> float | None:
    few = _ours("pipeline.100_tools", "p50_us")(results)
    if few is None:
        few = _ours("pipeline.native_args", "p50_us")(results)
    return ratio(_ours("pipeline.10000_tools", "p50_us")(results), few)


def _schema_tokens(results: Results) -> float | None:
    return _number(results, "schemas", "hermes", "tokens")


def _number(results: object, *path: str) -> float | None:
    for name in path:
        if not isinstance(results, Mapping):
            return None
        results = results.get(name)
    return float(results) if isinstance(results, (int, float)) else None


TARGETS: tuple[Target, ...] = (
    Target("`hermes --version`, wall p50", 10, "ms", _start_up("version", "wall_p50_ms")),
    Target("`hermes --version` over `/bin/true`, wall p50", 3, "×", _version_over_true),
    Target("`hermes --version`, peak memory", 12, "MB", _start_up("version", "peak_mb")),
    Target("`hermes tools list`, wall p50", 25, "ms", _start_up("tools_list", "wall_p50_ms")),
    Target("`hermes tools list`, peak memory", 12, "MB", _start_up("tools_list", "peak_mb")),
    Target("definitions of all tools, warm, p50", 5, "µs", _ours("definitions.warm", "p50_us")),
    *(
        target
        for shape, metric in (
            ("valid arguments", "pipeline.native_args"),
            ("every argument a string to coerce", "pipeline.string_args"),
        )
        for target in (
            Target(f"pipeline overhead of one call, {shape}, p50", 10, "µs", _ours(metric, "p50_us")),
            Target(
                f"calls on one core, {shape}",
                100_000,
                "/s",
                _ours(metric, "rate_per_s"),
                at_least=True,
            ),
        )
    ),
    Target("policy, a file call, p50", 5, "µs", _ours("policy.file_write", "p50_us")),
    Target("policy, a command of 500 characters, p50", 200, "µs", _ours("policy.command_500", "p50_us")),
    Target("sandboxed spawn over a bare one, p50", 1.3, "×", _spawn("ratio")),
    Target("added by the proxy to a request, p50", 1000, "µs", _proxy("http_added_us")),
    Target("`read_file`, first page of 1 GB, p50", 1000, "µs", _files("read_first_page", "p50_us")),
    Target(
        "`read_file`, last page of 1 GB over counting its newlines",
        1.5,
        "×",
        _files("read_deep_page", "ratio"),
    ),
    Target("`write_file`, 1 MB over write, fsync, rename", 1.5, "×", _files("write_1mb", "ratio")),
    Target(
        "`patch`, one of 10,000 lines over read, write, fsync, rename",
        2,
        "×",
        _files("patch_10k_lines", "ratio"),
    ),
    Target("`patch`, nothing matches, p50", 20_000, "µs", _files("patch_no_match", "p50_us")),
    Target(
        "`search_files`, content of 50,000 files over `rg`",
        1.1,
        "×",
        _files("search_content", "ratio"),
    ),
    Target(
        "`search_files`, names of 50,000 files over `rg`", 1.1, "×", _files("search_names", "ratio")
    ),
    Target("`terminal`, `true` over `bash -c true`, p50", 1.2, "×", _terminal("true", "ratio")),
    Target(
        "`terminal`, 8 × `sleep 0.5` in one batch, p50",
        0.7,
        "s",
        _scaled(_terminal("eight_sleeps", "p50_us"), 1e6),
    ),
    # Half the speed of the pipe is twice its time.
    Target("`terminal`, 1 GB of output over reading its pipe", 2, "×", _terminal("gigabyte", "ratio")),
    Target(
        "`terminal`, memory for 1 GB of output",
        32,
        "MB",
        _scaled(_terminal("memory", "growth_bytes"), 1e6),
    ),
    Target(
        "`execute_code`, an empty script over `python3 -c pass`, p50",
        1.3,
        "×",
        _code("empty_script", "ratio"),
    ),
    Target(
        "`execute_code`, sequential tool calls of one script",
        5000,
        "/s",
        _code("calls", "rate_per_s"),
        at_least=True,
    ),
    Target(
        "storing a message among 100,000 over SQLite alone, p50",
        1.5,
        "×",
        _agent("history.append", "ratio"),
    ),
    Target(
        "searching 100,000 messages, p50", 5, "ms", _scaled(_agent("history.search", "p50_us"), 1e3)
    ),
    Target("an agent turn without the model, p50", 20, "ms", _agent("agent.turn", "p50_ms")),
    Target("an idle chat", 30, "MB", _scaled(_agent("agent.idle_chat", "bytes"), 1e6)),
    Target(
        "`mcp serve` with every tool, first response",
        50,
        "ms",
        _mcp("hermes-stdio", "first_response_ms"),
    ),
    Target(
        "`mcp serve` with every tool, idle", 25, "MB", _scaled(_mcp("hermes-http", "idle_bytes"), 1e6)
    ),
    Target(
        "`mcp serve` over HTTP, sequential calls, p50",
        1,
        "ms",
        _mcp("hermes-http", "figures", 0, "p50_ms"),
    ),
    # On a shared machine, equal medians differ by up to a tenth.
    Target("one call, 10,000 tools over 100, p50", 1.1, "×", _many_over_few_tools),
    Target(f"schemas of `{TOOLSET}` as sent to a model", 6000, "tokens", _schema_tokens),
)

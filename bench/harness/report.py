"""Renders a run as Markdown, only from the contents of results.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.cases import IN_PROCESS, TOOLSET, Side
from harness.stats import ratio

Fields = Mapping[str, Any]
ABSENT = "not measured"

_SIGNS = {"at least": "≥", "at most": "≤"}
_VERDICTS = {True: "yes", False: "**no**", None: ABSENT}

_HOW_TO_READ = """\
Everything on this page comes from one run of `bench/run.py` on one machine. Read the
**ratios**: they survive a faster computer or a busy one, single times do not.

- *min* is the best case; *p50* is the usual case; a wide gap between them means that the
  machine was busy (see the load averages). p99 depends more on the machine than on the
  code.
- *CPU* is user + system time, which a busy machine distorts least.
- *Peak memory* is the largest resident set (`ru_maxrss`); 1 MB = 1,000,000 bytes.
- *original ÷ hermes* above 1 means that `hermes` needs less. *÷ `/bin/true`* is the ratio
  to the cheapest process that the system can start.
- Commands of all sides alternated within each round, and so did both in-process
  programs. In-process p50 is the median of the rounds' medians, min the smallest.
- The original ran under its best conditions: byte code compiled, home already set up,
  automatic installs off, update check answered from its cache, no network.
- A call of `hermes` passes every stage of its pipeline, including schema validation; the
  original's `handle_function_call` coerces, calls its hooks and dispatches."""


def render(results: Fields) -> str:
    sections = [
        "# Benchmark results",
        _heading(results),
        "## How to read this",
        _HOW_TO_READ,
        "## Targets",
        _targets(_rows(results, "targets")),
        "## Start-up and memory",
        _start_up(_fields(results, "start_up")),
        "## In process",
        _in_process(_fields(results, "in_process")),
        "## File tools",
        _comparison(_fields(results, "files"), _FILE_CASES, "bench_files"),
        "## Terminal",
        _terminal(_fields(results, "terminal")),
        "## Scripts",
        _code(_fields(results, "code")),
        "## Agent",
        _agent(_fields(results, "agent")),
        "## MCP servers",
        _mcp(_rows(results, "mcp")),
        f"## Schemas of `{TOOLSET}`",
        _schemas(_fields(results, "schemas")),
        *_remarks(_rows(results, "remarks")),
    ]
    return "\n\n".join(sections) + "\n"


def _heading(results: Fields) -> str:
    machine, load = _fields(results, "machine"), _fields(results, "load_average")
    original = results.get("original") or "left out of this run"
    lines = [
        f"- Date: {results['date']}, {'quick' if results['quick'] else 'full'} run",
        f"- Machine: {machine['cores']} cores ({machine['cpu']}), {machine['memory_gb']} GB, "
        f"{machine['kernel']}, {machine['architecture']}",
        f"- Versions: {machine['rustc'] or 'rustc not found'}; Python {machine['python']}; "
        f"{results.get('hermes') or 'hermes of unknown version'}; original: {original}",
        f"- Network: none ({results['network']})",
        f"- Load average (1, 5, 15 min): {_spaced(load['start'])} at the start, "
        f"{_spaced(load['end'])} at the end; highest 1 min value seen: {load['highest']}",
        f"- CPU used by the measured programs: {_cpu(results)}",
    ]
    return "\n".join(lines)


def _cpu(results: Fields) -> str:
    seconds = _fields(results, "cpu_seconds")
    return ", ".join(f"{name} {_figure(value)} s" for name, value in seconds.items())


def _targets(rows: Sequence[Fields]) -> str:
    return _table(
        ("figure", "target", "measured", "met"),
        (
            (
                row["what"],
                f"{_SIGNS[row['bound']]} {_amount(row['target'], row['unit'])}",
                _amount(row["measured"], row["unit"]),
                _VERDICTS[row["met"]],
            )
            for row in rows
        ),
    )


def _start_up(cases: Fields) -> str:
    base = _fields(cases, "true")
    body = []
    for case in cases.values():
        if "failure" in case:
            body.append((case["label"], case["side"], f"failed: {case['failure']}", *[""] * 6))
            continue
        rival = _fields(cases, str(case["rival"]))
        body.append(
            (
                case["label"],
                case["side"],
                _figure(case["wall_min_ms"]),
                _figure(case["wall_p50_ms"]),
                _figure(case["cpu_p50_ms"]),
                _figure(case["peak_mb"]),
                _times(case["wall_p50_ms"], base.get("wall_p50_ms")),
                _gain(case, rival),
                case["n"],
            )
        )
    header = (
        "command",
        "side",
        "wall min, ms",
        "wall p50, ms",
        "CPU p50, ms",
        "peak, MB",
        "÷ `/bin/true`",
        "original ÷ hermes: wall, CPU, memory",
        "n",
    )
    return _table(header, body)


def _gain(case: Fields, rival: Fields) -> str:
    if case["side"] != Side.HERMES.value or not rival:
        return ""
    names = ("wall_p50_ms", "cpu_p50_ms", "peak_mb")
    return ", ".join(_times(rival.get(name), case.get(name)) for name in names)


def _in_process(sides: Fields) -> str:
    ours, theirs = _fields(sides, "hermes"), _fields(sides, "original")
    body = []
    for case in IN_PROCESS:
        left, right = _fields(ours, case.ours), _fields(theirs, case.theirs or "")
        body.append(
            (
                case.label,
                _percentiles(left),
                _figure(left.get("rate_per_s")),
                _percentiles(right),
                _figure(right.get("rate_per_s")),
                _times(right.get("p50_us"), left.get("p50_us")),
                _times(right.get("min_us"), left.get("min_us")),
            )
        )
    header = (
        "operation",
        "hermes min / p50 / p99, µs",
        "per s",
        "original min / p50 / p99, µs",
        "per s",
        "original ÷ hermes, p50",
        "min",
    )
    return _table(header, body)


_FILE_CASES = {
    "files.read_first_page": ("`read_file`, first page of 1 GB", "reading those bytes"),
    "files.read_deep_page": ("`read_file`, last page of 1 GB", "counting all newlines"),
    "files.write_1mb": ("`write_file`, 1 MB", "write, fsync, rename"),
    "files.patch_10k_lines": ("`patch`, one of 10,000 lines", "read, write, fsync, rename"),
    "files.patch_no_match": ("`patch`, nothing matches", "reading the file"),
    "files.search_content": ("`search_files`, content of 50,000 files", "`rg`"),
    "files.search_names": ("`search_files`, names of 50,000 files", "`rg --files`"),
    "files.search_first": ("`search_files`, content, the first 20", "`rg`, all"),
}


_TERMINAL_CASES = {
    "terminal.true": ("`true`", "`bash -c true`"),
    "terminal.shell": ("`true; true`, which needs a shell", "`bash -c 'true; true'`"),
    "terminal.eight_sleeps": ("8 × `sleep 0.5` in one batch", "one `bash -c 'sleep 0.5'`"),
    "terminal.gigabyte": ("1 GB of output", "reading it from a pipe"),
}


_SCRIPT_CASES = {
    "code.empty_script": ("an empty script", "`python3 -c pass`"),
    "code.read_files": ("40 × `read_file` in one script", "`python3`, reading the files itself"),
}


def _code(metrics: Fields) -> str:
    table = _comparison(metrics, _SCRIPT_CASES, "bench_code")
    calls = _fields(metrics, "code.calls")
    if not calls:
        return table
    return f"{table}\n\nCalls of a no-op tool: {_figure(calls.get('rate_per_s'))} /s."


def _agent(metrics: Fields) -> str:
    def cell(metric: str, name: str, unit: str, divisor: float = 1.0) -> str:
        value = _fields(metrics, metric).get(name)
        return ABSENT if value is None else f"{_figure(value / divisor)} {unit}"

    children = _fields(metrics, "agent.children")
    rows = [
        ("a turn with one call, without the model, p50", cell("agent.turn", "p50_ms", "ms")),
        ("`hermes run`, one turn, start to end, p50", cell("agent.task", "p50_ms", "ms")),
        ("an idle chat", cell("agent.idle_chat", "bytes", "MB", 1e6)),
        (
            f"{_figure(children.get('n'))} concurrent sub-agents, one call each; the model takes "
            f"{_figure(children.get('model_ms'))} ms of it",
            f"{cell('agent.children', 'took_ms', 'ms')}, "
            f"{cell('agent.children', 'growth_bytes', 'MB more', 1e6)}",
        ),
        (
            "storing a message among 100,000, p50; SQLite alone "
            + cell("history.append", "reference_us", "µs"),
            cell("history.append", "p50_us", "µs"),
        ),
        (
            "searching 100,000 messages, seven kinds of queries, p50",
            cell("history.search", "p50_us", "µs"),
        ),
    ]
    return _table(("figure", "measured"), rows)


def _mcp(servers: Sequence[Any]) -> str:
    if not servers:
        return ABSENT
    header = ["server", "first response, ms"]
    for figures in servers[0]["figures"]:
        concurrency = figures["at_once"]
        header += [f"{concurrency} at once: calls/s", "p50 / p99, ms", "CPU, ms/call"]
    header += ["idle, MB", "peak, MB"]
    body = []
    for server in servers:
        row = [server["name"], _figure(server["first_response_ms"])]
        for figures in server["figures"]:
            row += [
                _figure(figures["rate_per_s"]),
                f"{_figure(figures['p50_ms'])} / {_figure(figures['p99_ms'])}",
                _figure(figures["cpu_ms_per_call"]),
            ]
        row += [_figure(server["idle_bytes"] / 1e6), _figure(server["peak_bytes"] / 1e6)]
        body.append(row)
    note = (
        "`hermes` has every tool and runs `todo` through its whole pipeline; the others have one "
        "echo tool. `-2026` is the newer protocol."
    )
    return f"{_table(header, body)}\n\n{note}"


def _terminal(metrics: Fields) -> str:
    table = _comparison(metrics, _TERMINAL_CASES, "bench_terminal")
    memory = _fields(metrics, "terminal.memory")
    if not memory:
        return table
    growth = [memory.get(name) for name in ("growth_bytes", "original_growth_bytes")]
    ours, theirs = (ABSENT if value is None else f"{_figure(value / 1e6)} MB" for value in growth)
    return (
        f"{table}\n\nGrowth of peak memory over 1 GB of output: {ours}; the original: {theirs}. "
        "By default its agent waits a second between two calls of a batch; here it does not."
    )


def _comparison(metrics: Fields, cases: Mapping[str, tuple[str, str]], program: str) -> str:
    if not metrics:
        return f"Not measured: `{program}` is not built."
    rows = []
    for name, (label, reference) in cases.items():
        metric = _fields(metrics, name)
        if not metric:
            continue
        ours = metric.get("p50_us")
        original = metric.get("original_us")
        rows.append(
            (
                label,
                _figure(ours),
                reference,
                _figure(metric.get("reference_us")),
                _times(ours, metric.get("reference_us")),
                _figure(original) if original is not None else ABSENT,
                _times(original, ours) if original is not None else "",
            )
        )
    header = (
        "tool",
        "p50, µs",
        "reference",
        "p50, µs",
        "hermes ÷ reference",
        "original p50, µs",
        "original ÷ hermes",
    )
    return _table(header, rows)


def _percentiles(metric: Fields) -> str:
    if not metric:
        return ABSENT
    return " / ".join(_figure(metric.get(name)) for name in ("min_us", "p50_us", "p99_us"))


def _schemas(sides: Fields) -> str:
    body = []
    for side in (Side.HERMES.value, Side.ORIGINAL.value):
        entry = _fields(sides, side)
        body.append((side, *(_figure(entry.get(name)) for name in ("tools", "bytes", "tokens"))))
    table = _table(("side", "tools sent", "bytes", "tokens"), body)
    return (
        f"{table}\n\nTokens of `hermes` as it reports them; of the original, "
        "characters ÷ 4 over the tools that are available on this machine."
    )


def _remarks(remarks: Sequence[object]) -> list[str]:
    if not remarks:
        return []
    return ["## Remarks", "\n".join(f"- {remark}" for remark in remarks)]


def _table(header: Sequence[str], body: Iterable[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *body]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _times(numerator: object, denominator: object) -> str:
    quotient = ratio(_number(numerator), _number(denominator))
    return ABSENT if quotient is None else f"{_figure(quotient)} ×"


def _amount(value: object, unit: object) -> str:
    return ABSENT if value is None else f"{_figure(value)} {unit}"


def _figure(value: object) -> str:
    """Formats three significant digits, with thousands separators."""
    number = _number(value)
    if number is None:
        return ABSENT
    if abs(number) >= 100 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.2f}" if abs(number) < 10 else f"{number:.1f}"


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _spaced(values: object) -> str:
    return " ".join(str(value) for value in values) if isinstance(values, list) else str(values)


def _fields(container: Fields, name: str) -> Fields:
    value = container.get(name)
    return value if isinstance(value, Mapping) else {}


def _rows(container: Fields, name: str) -> Sequence[Any]:
    value = container.get(name)
    return value if isinstance(value, list) else []

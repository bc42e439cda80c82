# Runs statements on one connection that stays, and shows rows as a table.
import sqlite3
import time

_MOST = int(os.environ.pop("HERMES_REPL_MOST", "20000"))
_ROWS = 200
_WIDTH = 80
_PATH = os.environ.pop("HERMES_REPL_DATABASE", "") or ":memory:"
try:
    _base = sqlite3.connect(_PATH, isolation_level=None)
except sqlite3.Error as error:
    _directory = os.path.dirname(_PATH)
    if os.path.isdir(_PATH):
        sys.exit("hermes-database: it is a directory")
    if not os.path.isdir(_directory):
        sys.exit("hermes-database: there is no directory %s" % _directory)
    sys.exit("hermes-database: %s" % error)


class _Stop:
    wanted = False


def _stop(*_):
    if _Attention.busy:
        _Attention.seen = _Stop.wanted = True


# A signal is heard between two steps of the engine, and stops it there.
_base.set_progress_handler(lambda: 1 if _Stop.wanted else 0, 5000)


def _statements(text):
    """The statements of a text, each with the line that it begins in."""
    found, begin, line = [], 0, 1
    at = text.find(";")
    while at >= 0:
        part = text[begin : at + 1]
        if sqlite3.complete_statement(part):
            lead = len(part) - len(part.lstrip())
            found.append((part.strip(), line + part[:lead].count("\n")))
            line += part.count("\n")
            begin = at + 1
        at = text.find(";", at + 1)
    rest = text[begin:]
    if _code(rest):
        lead = len(rest) - len(rest.lstrip())
        found.append((rest.strip(), line + rest[:lead].count("\n")))
    return [(part, line) for part, line in found if _code(part).strip("; \n\t")]


def _code(text):
    """Without comments."""
    out, at = [], 0
    while at < len(text):
        if text.startswith("--", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            at = len(text) if end < 0 else end + 2
        elif text[at] in "'\"`":
            end = text.find(text[at], at + 1)
            end = len(text) if end < 0 else end + 1
            out.append(text[at:end])
            at = end
        else:
            out.append(text[at])
            at += 1
    return "".join(out).strip()


def _cell(value):
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        text = "x'%s'" % value[:20].hex()
        return text if len(value) <= 20 else "%s... (%d bytes)" % (text[:-1], len(value))
    text = str(value).replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _type(values):
    names = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}
    kinds = sorted({names.get(type(value), "?") for value in values if value is not None})
    return "/".join(kinds) or "NULL"


def _table(names, rows, total, more):
    cells = [[_cell(value) for value in row] for row in rows]
    kinds = [_type([row[at] for row in rows]) for at in range(len(names))]
    heads = ["%s" % _cell(name) for name in names]
    widths = [max([len(heads[at]), len(kinds[at])] + [len(row[at]) for row in cells]) for at in range(len(names))]
    right = [kind in ("INTEGER", "REAL", "INTEGER/REAL") for kind in kinds]

    def line(row):
        parts = [text.rjust(width) if r else text.ljust(width) for text, width, r in zip(row, widths, right)]
        return " | ".join(parts).rstrip()

    out = [line(heads), line(kinds), "-+-".join("-" * width for width in widths)]
    out += [line(row) for row in cells]
    note = "(%d row%s" % (total, "" if total == 1 else "s")
    if total > len(rows):
        note += ", the first %d shown" % len(rows)
    return "\n".join(out) + "\n" + note + (", more not read)" if more else ")")


def _all():
    """What all databases of the session hold; that of others than the first
    has their name before it."""
    parts = []
    for place, base, _ in _base.execute("PRAGMA database_list").fetchall():
        before = "" if base in ("main", "temp") else base + "."
        quoted = before.replace("'", "''")
        parts.append(
            "SELECT %d AS place, rowid AS row, type, sql, name AS shown, tbl_name AS table_shown, '%s' || name AS name,"
            " '%s' || tbl_name AS table_name FROM \"%s\".sqlite_master"
            % (place, quoted, quoted, base.replace('"', '""')))
    return " UNION ALL ".join(parts)


def _point(words):
    """The few orders of the sqlite3 program that people know by heart."""
    order, rest = words[0], words[1:]
    like = rest[0] if rest else "%"
    if order == ".tables":
        return "SELECT name, type FROM (%s) WHERE type IN ('table','view') AND shown NOT LIKE 'sqlite_%%' AND shown LIKE ? ORDER BY place, name" % _all(), (like,)
    if order == ".schema":
        return "SELECT sql FROM (%s) WHERE sql IS NOT NULL AND table_shown LIKE ? ORDER BY place, row" % _all(), (like,)
    if order in (".indexes", ".indices"):
        return "SELECT name, table_name AS tbl_name FROM (%s) WHERE type = 'index' AND table_shown LIKE ? ORDER BY place, name" % _all(), (like,)
    if order == ".databases":
        return "PRAGMA database_list", ()
    raise ValueError("%s is not known here; there are .tables, .schema, .indexes, .databases" % order)


def _execute(statement):
    values = ()
    if statement.startswith("."):
        statement, values = _point(statement.rstrip(";").split())
        if "SELECT sql" in statement:
            rows = _base.execute(statement, values).fetchall()
            return "\n".join(row[0] + ";" for row in rows), len(rows)
    before = _base.total_changes
    cursor = _base.execute(statement, values)
    if cursor.description is None:
        changed = _base.total_changes - before
        first = _code(statement).split(None, 1)[0].strip(";").upper()
        if first in ("INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"):
            return "%s: %d row%s changed" % (first, changed, "" if changed == 1 else "s"), None
        return "%s: done" % first, None
    names = [column[0] for column in cursor.description]
    rows = cursor.fetchmany(_ROWS)
    total, more = len(rows), False
    if total == _ROWS:
        # The rest is counted, for a while.
        until = time.monotonic() + 10
        while True:
            part = cursor.fetchmany(5000)
            total += len(part)
            if not part:
                break
            if time.monotonic() > until:
                more = True
                break
    return _table(names, rows, total, more), total


def _parts(text):
    if text.lstrip().startswith("."):
        lines = [(line.strip(), at + 1) for at, line in enumerate(text.splitlines()) if line.strip()]
        if all(line.startswith(".") for line, _ in lines):
            return lines
    return _statements(text)


def _answer(request):
    _Stop.wanted = _Attention.seen = False
    shown, told, line = [], {}, 1
    _Attention.busy = True
    try:
        for statement, line in _parts(request["code"]):
            text, rows = _execute(statement)
            shown.append(text)
            if rows is not None:
                told["rows"] = rows
    except BaseException as error:
        if isinstance(error, sqlite3.OperationalError) and _Stop.wanted:
            told["interrupted"] = True
        message = str(error)
        where = "Line %d: %s: %s" % (line, type(error).__name__, message)
        told["error"] = {"type": type(error).__name__, "message": _cut(message, 4000), "line": line, "traceback": where}
    finally:
        _Attention.busy = False
    if shown:
        told["value"] = {"text": _cut("\n\n".join(shown), _MOST), "type": "table" if "rows" in told else "none"}
    if _base.in_transaction:
        told["note"] = "A transaction is open."
    return told


_on_interrupt = _stop
_serve(_answer)

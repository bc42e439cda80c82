# Runs SQL statements on one persistent connection and formats rows as a table.
import sqlite3
import time

_MAX_VALUE_CHARS = int(os.environ.pop("HERMES_REPL_MOST", "20000"))
_MAX_ROWS = 200
_MAX_CELL_CHARS = 80
_PATH = os.environ.pop("HERMES_REPL_DATABASE", "") or ":memory:"
try:
    _connection = sqlite3.connect(_PATH, isolation_level=None)
except sqlite3.Error as error:
    _directory = os.path.dirname(_PATH)
    if os.path.isdir(_PATH):
        sys.exit("hermes-database: the path is a directory")
    if not os.path.isdir(_directory):
        sys.exit("hermes-database: there is no directory %s" % _directory)
    sys.exit("hermes-database: %s" % error)


class _Cancellation:
    requested = False


def _cancel(*_):
    if _Interrupts.code_running:
        _Interrupts.received = _Cancellation.requested = True


# SQLite calls the handler every 5000 instructions, and stops if it returns 1.
_connection.set_progress_handler(lambda: 1 if _Cancellation.requested else 0, 5000)


def _statements(text):
    """Returns the statements of a text, each with its first line number."""
    statements, begin, line = [], 0, 1
    at = text.find(";")
    while at >= 0:
        part = text[begin : at + 1]
        if sqlite3.complete_statement(part):
            lead = len(part) - len(part.lstrip())
            statements.append((part.strip(), line + part[:lead].count("\n")))
            line += part.count("\n")
            begin = at + 1
        at = text.find(";", at + 1)
    rest = text[begin:]
    if _strip_comments(rest):
        lead = len(rest) - len(rest.lstrip())
        statements.append((rest.strip(), line + rest[:lead].count("\n")))
    return [(part, line) for part, line in statements if _strip_comments(part).strip("; \n\t")]


def _strip_comments(text):
    """Returns a text without comments."""
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
    return text if len(text) <= _MAX_CELL_CHARS else text[: _MAX_CELL_CHARS - 1] + "…"


def _type(values):
    names = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}
    kinds = sorted({names.get(type(value), "?") for value in values if value is not None})
    return "/".join(kinds) or "NULL"


def _table(names, rows, total, stopped):
    cells = [[_cell(value) for value in row] for row in rows]
    kinds = [_type([row[at] for row in rows]) for at in range(len(names))]
    heads = [_cell(name) for name in names]
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
    return "\n".join(out) + "\n" + note + (", counting stopped)" if stopped else ")")


def _schema_query():
    """Returns a query for the schemas of all attached databases. Names of others
    than the main one are qualified."""
    parts = []
    for place, database, _ in _connection.execute("PRAGMA database_list").fetchall():
        prefix = "" if database in ("main", "temp") else database + "."
        quoted = prefix.replace("'", "''")
        parts.append(
            "SELECT %d AS place, rowid AS row, type, sql, name AS shown, tbl_name AS table_shown, '%s' || name AS name,"
            " '%s' || tbl_name AS table_name FROM \"%s\".sqlite_master"
            % (place, quoted, quoted, database.replace('"', '""')))
    return " UNION ALL ".join(parts)


def _dot_command(words):
    """Translates the common dot commands of the sqlite3 program."""
    command, rest = words[0], words[1:]
    like = rest[0] if rest else "%"
    if command == ".tables":
        return "SELECT name, type FROM (%s) WHERE type IN ('table','view') AND shown NOT LIKE 'sqlite_%%' AND shown LIKE ? ORDER BY place, name" % _schema_query(), (like,)
    if command == ".schema":
        return "SELECT sql FROM (%s) WHERE sql IS NOT NULL AND table_shown LIKE ? ORDER BY place, row" % _schema_query(), (like,)
    if command in (".indexes", ".indices"):
        return "SELECT name, table_name AS tbl_name FROM (%s) WHERE type = 'index' AND table_shown LIKE ? ORDER BY place, name" % _schema_query(), (like,)
    if command == ".databases":
        return "PRAGMA database_list", ()
    raise ValueError("unknown command %s; supported are .tables, .schema, .indexes, .databases" % command)


def _execute(statement):
    values = ()
    if statement.startswith("."):
        statement, values = _dot_command(statement.rstrip(";").split())
        if "SELECT sql" in statement:
            rows = _connection.execute(statement, values).fetchall()
            return "\n".join(row[0] + ";" for row in rows), len(rows)
    before = _connection.total_changes
    cursor = _connection.execute(statement, values)
    if cursor.description is None:
        changed = _connection.total_changes - before
        first = _strip_comments(statement).split(None, 1)[0].strip(";").upper()
        if first in ("INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"):
            return "%s: %d row%s changed" % (first, changed, "" if changed == 1 else "s"), None
        return "%s: done" % first, None
    names = [column[0] for column in cursor.description]
    rows = cursor.fetchmany(_MAX_ROWS)
    total, stopped = len(rows), False
    if total == _MAX_ROWS:
        # Counts the remaining rows for at most ten seconds.
        deadline = time.monotonic() + 10
        while True:
            batch = cursor.fetchmany(5000)
            total += len(batch)
            if not batch:
                break
            if time.monotonic() > deadline:
                stopped = True
                break
    return _table(names, rows, total, stopped), total


def _commands(text):
    if text.lstrip().startswith("."):
        lines = [(line.strip(), at + 1) for at, line in enumerate(text.splitlines()) if line.strip()]
        if all(line.startswith(".") for line, _ in lines):
            return lines
    return _statements(text)


def _handle_request(request):
    _Cancellation.requested = _Interrupts.received = False
    results, response, line = [], {}, 1
    _Interrupts.code_running = True
    try:
        for statement, line in _commands(request["code"]):
            text, rows = _execute(statement)
            results.append(text)
            if rows is not None:
                response["rows"] = rows
    except BaseException as error:
        if isinstance(error, sqlite3.OperationalError) and _Cancellation.requested:
            response["interrupted"] = True
        message = str(error)
        where = "Line %d: %s: %s" % (line, type(error).__name__, message)
        response["error"] = {"type": type(error).__name__, "message": _truncate(message, 4000), "line": line, "traceback": where}
    finally:
        _Interrupts.code_running = False
    if results:
        response["value"] = {"text": _truncate("\n\n".join(results), _MAX_VALUE_CHARS), "type": "table" if "rows" in response else "none"}
    if _connection.in_transaction:
        response["note"] = "A transaction is open."
    return response


_on_interrupt = _cancel
_serve(_handle_request)

# What the drivers of Python and SQL have in common: how they are asked and how
# they answer. Descriptor 3 brings requests; answers go to 4, marks to 5, in
# parts that a pipe takes whole, each behind a word that nobody else knows.
import json
import os
import signal
import sys

_WORD = b"\x1e" + os.environ.pop("HERMES_REPL_WORD").encode()
_PART = 3800
_OWN = os.getpid()
for _fd in (3, 4, 5):
    os.set_inheritable(_fd, False)


# What code may have of memory, and the little more that what tells of it has:
# made before there is no room for them.
_MORE = 64 << 20
_BOUNDS = []
try:
    import resource

    for _kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS):
        _soft, _hard = resource.getrlimit(_kind)
        if _hard > 2 * _MORE:
            _low = min(_soft if _soft > 0 else _hard, _hard - _MORE)
            _BOUNDS.append((_kind, (_low, _hard), (_hard, _hard)))
except (ImportError, OSError, ValueError):
    pass


def _narrow():
    for kind, low, _ in _BOUNDS:
        try:
            resource.setrlimit(kind, low)
        except (OSError, ValueError):
            pass


def _widen():
    for kind, _, high in _BOUNDS:
        try:
            resource.setrlimit(kind, high)
        except (OSError, ValueError):
            pass


def _full():
    """What is said of code that ran out of memory."""
    most = min((low[0] for _, low, _ in _BOUNDS), default=0)
    most = " (%d MiB)" % (most >> 20) if most else ""
    return (
        "The interpreter has used up the memory that it may have%s. The state is kept: delete what "
        "is not needed (del), work in smaller parts, or start anew with action=reset." % most
    )


def _write(fd, data):
    while data:
        data = data[os.write(fd, data):]


def _send(data, kinds):
    view = memoryview(data)
    while True:
        part, view = view[:_PART], view[_PART:]
        kind = kinds[0] if len(view) else kinds[1]
        _write(4, _WORD + kind + b"%04x" % len(part) + bytes(part))
        if not len(view):
            return


def _tell(message):
    _send(json.dumps(message).encode("utf-8", "backslashreplace"), (b"c", b"e"))


def _send_file(kind, extension, data):
    _send(data, (b"f", b"f"))
    _tell({"file": kind, "extension": extension})


def _mark_errors():
    try:
        _write(5, _WORD + b"e0000")
    except OSError:
        pass


def _next_request():
    size = _asks.readline()
    if not size:
        # Nobody is there any more. What threads still do is of no use.
        os._exit(0)
    return json.loads(_asks.read(int(size)))


def _cut(text, most):
    if len(text) <= most:
        return text
    head, tail = most * 2 // 5, most * 3 // 5
    left = len(text) - head - tail
    return "%s\n[... %d characters left out ...]\n%s" % (text[:head], left, text[-tail:])


class _Attention:
    """Whether an interrupt is for the code that runs, or comes too late."""

    busy = False
    seen = False


def _on_interrupt(*_):
    if _Attention.busy:
        _Attention.seen = True
        raise KeyboardInterrupt


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass


def _serve(answer):
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    signal.signal(signal.SIGINT, _on_interrupt)
    _widen()
    _tell({"ready": "%d.%d.%d" % sys.version_info[:3], "program": sys.executable})
    _mark_errors()
    while True:
        request = _next_request()
        try:
            told = answer(request)
        except MemoryError:
            _widen()
            told = {"error": {"type": "MemoryError", "message": "", "traceback": ""}, "note": _full()}
        except KeyboardInterrupt:
            # It came when the code had just ended.
            told = {"interrupted": True}
        if os.getpid() != _OWN:
            # A copy that the code has made of us.
            _flush()
            os._exit(0)
        told["done"] = request["id"]
        _flush()
        _tell(told)
        _mark_errors()

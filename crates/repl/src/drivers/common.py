# The protocol of the Python and SQL drivers. Requests arrive on descriptor 3;
# responses go to 4 and end-of-stderr marks to 5, in frames small enough for an
# atomic pipe write, each preceded by a secret marker.
import json
import os
import signal
import sys

_MARKER = b"\x1e" + os.environ.pop("HERMES_REPL_WORD").encode()
_FRAME_BYTES = 3800
_DRIVER_PID = os.getpid()
for _fd in (3, 4, 5):
    os.set_inheritable(_fd, False)


# Memory limits: the lower for user code, the upper for reporting that the lower
# is reached. They are created before memory can run out.
_REPORT_RESERVE_BYTES = 64 << 20
_MEMORY_LIMITS = []
try:
    import resource

    for _kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS):
        _soft, _hard = resource.getrlimit(_kind)
        if _hard > 2 * _REPORT_RESERVE_BYTES:
            _low = min(_soft if _soft > 0 else _hard, _hard - _REPORT_RESERVE_BYTES)
            _MEMORY_LIMITS.append((_kind, (_low, _hard), (_hard, _hard)))
except (ImportError, OSError, ValueError):
    pass


def _apply_user_limits():
    for kind, low, _ in _MEMORY_LIMITS:
        try:
            resource.setrlimit(kind, low)
        except (OSError, ValueError):
            pass


def _apply_driver_limits():
    for kind, _, high in _MEMORY_LIMITS:
        try:
            resource.setrlimit(kind, high)
        except (OSError, ValueError):
            pass


def _out_of_memory_note():
    """Returns the note on code that ran out of memory."""
    limit = min((low[0] for _, low, _ in _MEMORY_LIMITS), default=0)
    limit = " (%d MiB)" % (limit >> 20) if limit else ""
    return (
        "The interpreter has reached its memory limit%s. The state is kept: delete unused values "
        "(del), work in smaller parts, or restart with action=reset." % limit
    )


def _write(fd, data):
    while data:
        data = data[os.write(fd, data):]


def _send_frames(data, kinds):
    view = memoryview(data)
    while True:
        part, view = view[:_FRAME_BYTES], view[_FRAME_BYTES:]
        kind = kinds[0] if len(view) else kinds[1]
        _write(4, _MARKER + kind + b"%04x" % len(part) + bytes(part))
        if not len(view):
            return


def _send_message(message):
    _send_frames(json.dumps(message).encode("utf-8", "backslashreplace"), (b"c", b"e"))


def _send_file(kind, extension, data):
    _send_frames(data, (b"f", b"f"))
    _send_message({"file": kind, "extension": extension})


def _mark_stderr_end():
    try:
        _write(5, _MARKER + b"e0000")
    except OSError:
        pass


def _next_request():
    size = _requests.readline()
    if not size:
        # The client is gone, so running threads are not waited for.
        os._exit(0)
    return json.loads(_requests.read(int(size)))


def _truncate(text, limit):
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 5, limit * 3 // 5
    omitted = len(text) - head - tail
    return "%s\n[... %d characters left out ...]\n%s" % (text[:head], omitted, text[-tail:])


class _Interrupts:
    """Whether user code is running, and whether it was interrupted."""

    code_running = False
    received = False


def _on_interrupt(*_):
    if _Interrupts.code_running:
        _Interrupts.received = True
        raise KeyboardInterrupt


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass


def _serve(handle_request):
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    signal.signal(signal.SIGINT, _on_interrupt)
    _apply_driver_limits()
    _send_message({"ready": "%d.%d.%d" % sys.version_info[:3], "program": sys.executable})
    _mark_stderr_end()
    while True:
        request = _next_request()
        try:
            response = handle_request(request)
        except MemoryError:
            _apply_driver_limits()
            error = {"type": "MemoryError", "message": "", "traceback": ""}
            response = {"error": error, "note": _out_of_memory_note()}
        except KeyboardInterrupt:
            # The interrupt arrived just after the code ended.
            response = {"interrupted": True}
        if os.getpid() != _DRIVER_PID:
            # The user code has forked this process.
            _flush()
            os._exit(0)
        response["done"] = request["id"]
        _flush()
        _send_message(response)
        _mark_stderr_end()

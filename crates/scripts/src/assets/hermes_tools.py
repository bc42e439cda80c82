"""The tools of this session as functions.

Each call goes through hermes and returns what the tool answers, as Python
values. A call that fails raises ToolError. All of it works from any thread;
`aio.NAME(...)` is the same for `await`.
"""
from __future__ import annotations

import os as _os
from _thread import _local as _Local

_here = _Local()
_coder = None


class ToolError(Exception):
    """A call that failed: kind, message, hint, and all that was said in details."""

    def __init__(self, tool, details):
        self.tool = tool
        self.details = details
        self.kind = details.get("kind", "internal")
        self.message = str(details.get("error", "no reason was given"))
        self.hint = details.get("hint")
        super().__init__(tool, details)

    def __str__(self):
        hint = " " + self.hint if self.hint else ""
        return "%s: %s (%s)%s" % (self.tool, self.message, self.kind, hint)


def _plain(value):
    if hasattr(value, "__fspath__"):
        return _os.fspath(value)
    if hasattr(value, "item"):
        return value.item()
    if hasattr(value, "__iter__"):
        return list(value)
    raise TypeError("a tool cannot be given a %s" % type(value).__name__)


def _spelled(name, value):
    """A path of any bytes, as an address; what else is no text cannot be sent."""
    if isinstance(value, (list, tuple)):
        return [_spelled(name, one) for one in value]
    value = _plain(value) if hasattr(value, "__fspath__") else value
    try:
        if isinstance(value, str):
            value.encode()
    except UnicodeEncodeError:
        if not name.endswith(("path", "paths", "workdir", "cwd")):
            raise ValueError("%s is no text: it has half of a character" % name) from None
        from urllib.parse import quote

        return "file://" + quote(_os.fsencode(_os.path.abspath(value)))
    return value


def _coders():
    global _coder
    if _coder is None:
        import json

        encode = json.JSONEncoder(default=_plain, allow_nan=False, ensure_ascii=False).encode
        _coder = encode, json.JSONDecoder().decode
    return _coder


class _Line:
    """A connection of one thread."""

    def __init__(self):
        import _socket

        self.owner = _os.getpid()
        self.number = 0
        self.token = _os.environ.get("HERMES_RPC_TOKEN", "")
        self.socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self.socket.connect(_os.environ.get("HERMES_RPC_SOCKET", ""))

    def ask(self, tool, arguments):
        encode, decode = _coders()
        self.number += 1
        request = {"id": self.number, "token": self.token, "tool": tool, "args": arguments}
        try:
            body = encode(request).encode()
        except UnicodeEncodeError:
            request["args"] = {name: _spelled(name, value) for name, value in arguments.items()}
            body = encode(request).encode()
        size = len(body).to_bytes(4, "big")
        if len(body) < 65536:
            self.socket.sendall(size + body)
        else:
            self.socket.sendall(size)
            self.socket.sendall(body)
        return decode(self.read().decode())

    def read(self):
        data = self.socket.recv(65536)
        while data and len(data) < 4:
            more = self.socket.recv(65536)
            data = data + more if more else b""
        if not data:
            raise EOFError
        left = int.from_bytes(data[:4], "big") + 4 - len(data)
        if not left:
            return data[4:]
        parts = [data[4:]]
        while left:
            more = self.socket.recv(min(left, 1 << 20))
            if not more:
                raise EOFError
            left -= len(more)
            parts.append(more)
        return b"".join(parts)


def _call(tool, arguments):
    arguments = {name: value for name, value in arguments.items() if value is not None}
    line = None
    try:
        line = getattr(_here, "line", None)
        # What a fork has taken along belongs to the parent.
        if line is None or line.owner != _os.getpid():
            line = _Line()
        # Until the answer is there nobody knows where on the line it is.
        _here.line = None
        answer = line.ask(tool, arguments)
    except (OSError, EOFError):
        raise ToolError(
            tool,
            {
                "error": "hermes does not answer this script any more",
                "kind": "unavailable",
                "hint": "The run is over, or its connection was closed.",
            },
        ) from None
    _here.line = line
    if answer.get("ok"):
        return answer.get("result")
    raise ToolError(tool, answer.get("error") or {})


def json_parse(text):
    """JSON text as values; line ends and tabs within its strings are allowed."""
    if not isinstance(text, (str, bytes, bytearray)):
        return text
    import json

    return json.loads(text, strict=False)


def shell_quote(text):
    """The word that a shell reads as this text."""
    import shlex

    return shlex.quote(str(text))


def retry(fn, max_attempts=3, delay=2):
    """Calls fn until it raises nothing, after 2, 4, 8 ... seconds; its result."""
    import time

    attempt = 1
    while True:
        try:
            return fn()
        except Exception:
            if attempt >= max_attempts:
                raise
        time.sleep(delay * 2 ** (attempt - 1))
        attempt += 1


class _Aio:
    """The same functions for `await`."""

    _pool = None

    def __getattr__(self, name):
        function = globals().get(name)
        if name.startswith("_") or not callable(function):
            raise AttributeError("hermes_tools.aio has no %s" % name)

        async def waited(*words, **named):
            import asyncio
            import functools

            if _Aio._pool is None:
                from concurrent.futures import ThreadPoolExecutor

                _Aio._pool = ThreadPoolExecutor(32, "hermes_tools")
            call = functools.partial(function, *words, **named)
            return await asyncio.get_running_loop().run_in_executor(_Aio._pool, call)

        waited.__name__ = name
        waited.__doc__ = function.__doc__
        return waited


aio = _Aio()

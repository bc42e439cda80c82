"""The tools of this session as functions.

Each call goes through hermes and returns the tool's result as a ToolResult, a
dict. The result of a call that fails has `error`, `kind` and `hint`; its `ok` is
false, and raise_for_error() raises it. All functions work from any thread;
`aio.NAME(...)` is the same for `await`.
"""
from __future__ import annotations

import os as _os
from _thread import _local as _Local

_thread_state = _Local()
_codec = None


class ToolError(Exception):
    """A call that failed: kind, message, hint, and the whole error in details."""

    def __init__(self, tool, details):
        self.tool = tool
        self.details = details
        self.kind = details.get("kind", "internal")
        self.message = str(details.get("error", "the error has no message"))
        self.hint = details.get("hint")
        super().__init__(tool, details)

    def __str__(self):
        hint = " " + self.hint if self.hint else ""
        return "%s: %s (%s)%s" % (self.tool, self.message, self.kind, hint)


class _MissingKey(ToolError, KeyError):
    """A key that is missing because the call failed."""

    __str__ = ToolError.__str__


class ToolResult(dict):
    """A tool's result. `ok` says whether the call succeeded."""

    ok = True
    tool = None

    def raise_for_error(self):
        """Raises ToolError if the call failed; returns the result otherwise."""
        if not self.ok:
            raise ToolError(self.tool, dict(self))
        return self

    def __missing__(self, key):
        if not self.ok:
            raise _MissingKey(self.tool, dict(self))
        raise KeyError(key)


def _failure(tool, details):
    failed = ToolResult(details)
    failed.setdefault("error", "the error has no message")
    failed.ok, failed.tool = False, tool
    return failed


def _plain(value):
    if hasattr(value, "__fspath__"):
        return _os.fspath(value)
    if hasattr(value, "item"):
        return value.item()
    if hasattr(value, "__iter__"):
        return list(value)
    raise TypeError("a tool argument cannot be a %s" % type(value).__name__)


def _valid_text(name, value):
    """Returns a path that is not UTF-8 as a file URL; refuses other invalid text."""
    if isinstance(value, (list, tuple)):
        return [_valid_text(name, item) for item in value]
    value = _plain(value) if hasattr(value, "__fspath__") else value
    try:
        if isinstance(value, str):
            value.encode()
    except UnicodeEncodeError:
        if not name.endswith(("path", "paths", "workdir", "cwd")):
            raise ValueError("%s is not valid text: it contains a lone surrogate" % name) from None
        from urllib.parse import quote

        return "file://" + quote(_os.fsencode(_os.path.abspath(value)))
    return value


def _load_codec():
    global _codec
    if _codec is None:
        import json

        encode = json.JSONEncoder(default=_plain, allow_nan=False, ensure_ascii=False).encode
        _codec = encode, json.JSONDecoder().decode
    return _codec


class _Connection:
    """The connection of one thread."""

    def __init__(self):
        import _socket

        self.owner = _os.getpid()
        self.last_id = 0
        self.token = _os.environ.get("HERMES_RPC_TOKEN", "")
        self.socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self.socket.connect(_os.environ.get("HERMES_RPC_SOCKET", ""))

    def request(self, tool, arguments):
        encode, decode = _load_codec()
        self.last_id += 1
        request = {"id": self.last_id, "token": self.token, "tool": tool, "args": arguments}
        try:
            body = encode(request).encode()
        except UnicodeEncodeError:
            request["args"] = {name: _valid_text(name, value) for name, value in arguments.items()}
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
            chunk = self.socket.recv(65536)
            data = data + chunk if chunk else b""
        if not data:
            raise EOFError
        left = int.from_bytes(data[:4], "big") + 4 - len(data)
        if not left:
            return data[4:]
        chunks = [data[4:]]
        while left:
            chunk = self.socket.recv(min(left, 1 << 20))
            if not chunk:
                raise EOFError
            left -= len(chunk)
            chunks.append(chunk)
        return b"".join(chunks)


def _call(tool, arguments):
    arguments = {name: value for name, value in arguments.items() if value is not None}
    connection = None
    try:
        connection = getattr(_thread_state, "connection", None)
        # After a fork, the connection belongs to the parent.
        if connection is None or connection.owner != _os.getpid():
            connection = _Connection()
        # An interrupted exchange leaves the connection unusable.
        _thread_state.connection = None
        response = connection.request(tool, arguments)
    except (OSError, EOFError):
        return _failure(
            tool,
            {
                "error": "the connection to hermes is closed",
                "kind": "unavailable",
                "hint": "The script run has ended, or the connection was lost.",
            },
        )
    _thread_state.connection = connection
    if not response.get("ok"):
        return _failure(tool, response.get("error") or {})
    result = response.get("result")
    return ToolResult(result) if isinstance(result, dict) else result


def json_parse(text):
    """Parses JSON; line ends and tabs in strings are allowed."""
    if not isinstance(text, (str, bytes, bytearray)):
        return text
    import json

    return json.loads(text, strict=False)


def shell_quote(text):
    """Quotes a text as one shell word."""
    import shlex

    return shlex.quote(str(text))


def retry(fn, max_attempts=3, delay=2):
    """Calls fn until it succeeds; waits 2, 4, 8 ... seconds between attempts.

    An exception and the result of a failed call are failures.
    """
    import time

    attempt = 1
    while True:
        try:
            result = fn()
            if attempt >= max_attempts or not isinstance(result, ToolResult) or result.ok:
                return result
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

        async def run_in_thread(*args, **kwargs):
            import asyncio
            import functools

            if _Aio._pool is None:
                from concurrent.futures import ThreadPoolExecutor

                _Aio._pool = ThreadPoolExecutor(32, "hermes_tools")
            call = functools.partial(function, *args, **kwargs)
            return await asyncio.get_running_loop().run_in_executor(_Aio._pool, call)

        run_in_thread.__name__ = name
        run_in_thread.__doc__ = function.__doc__
        return run_in_thread


aio = _Aio()

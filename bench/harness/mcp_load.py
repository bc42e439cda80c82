"""A load client for MCP servers: plain JSON-RPC over a pipe or HTTP, with only the
standard library, so that the client overhead is the same for every server.

Measures the time to the first response, sequential and concurrent calls, and the CPU time
and memory of the server process.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import selectors
import socket
import subprocess
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
_TICKS = os.sysconf("SC_CLK_TCK")
_TIMEOUT_S = 60
_STARTS = 7
_CLIENT = {"name": "load", "version": "1"}


class ServerFailed(Exception):
    """The server failed, so its time is invalid."""


@dataclass(frozen=True)
class Target:
    """A server to measure."""

    name: str
    command: Sequence[str]
    tool: str
    arguments: Mapping[str, Any]
    protocol: str = LEGACY
    url: str | None = None
    """URL of an HTTP server; if empty, the server prints it as its first line."""
    headers: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Figures:
    """The figures of calls at one concurrency."""

    calls: int
    at_once: int
    rate_per_s: float
    p50_ms: float
    p99_ms: float
    cpu_ms_per_call: float


@dataclass(frozen=True)
class Measurement:
    name: str
    first_response_ms: float
    idle_bytes: int
    peak_bytes: int
    figures: Sequence[Figures]


def cpu_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory(pid: int, key: str) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith(key):
                return int(line.split()[1]) * 1024
    return 0


def request(target: Target, number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    if target.protocol == MODERN:
        params = {
            **params,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": _CLIENT,
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        }
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def first_request(target: Target) -> dict[str, Any]:
    if target.protocol == MODERN:
        return request(target, 0, "server/discover", {})
    params = {"protocolVersion": target.protocol, "capabilities": {}, "clientInfo": _CLIENT}
    return request(target, 0, "initialize", params)


def tool_call(target: Target, number: int) -> dict[str, Any]:
    params = {"name": target.tool, "arguments": dict(target.arguments)}
    return request(target, number, "tools/call", params)


def check_response(target: Target, response: dict[str, Any]) -> None:
    if "result" not in response or response["result"].get("isError"):
        raise ServerFailed(f"{target.name}: {json.dumps(response)[:300]}")


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Pipe:
    """A server on standard input and output."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.started_at = time.perf_counter()
        self.process = subprocess.Popen(
            target.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=target.environment,
        )
        assert self.process.stdin and self.process.stdout
        self.write_fd = self.process.stdin.fileno()
        self.read_fd = self.process.stdout.fileno()
        self.buffered = b""

    def open(self) -> float:
        self.send(first_request(self.target))
        for response in self.responses():
            if response.get("id") == 0:
                break
        elapsed = time.perf_counter() - self.started_at
        check_response(self.target, response)
        if self.target.protocol != MODERN:
            self.send(INITIALIZED)
        return elapsed

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        while data:
            data = data[os.write(self.write_fd, data) :]

    def responses(self) -> Iterator[dict[str, Any]]:
        while True:
            line, found, rest = self.buffered.partition(b"\n")
            if found:
                self.buffered = rest
                yield json.loads(line)
                continue
            ready, _, _ = select.select([self.read_fd], [], [], _TIMEOUT_S)
            chunk = os.read(self.read_fd, 1 << 16) if ready else b""
            if not chunk:
                reason = "the server closed its output" if ready else f"no response within {_TIMEOUT_S} s"
                raise ServerFailed(f"{self.target.name}: {reason}")
            self.buffered += chunk

    def run(self, calls: int, at_once: int) -> list[float]:
        sent: dict[int, float] = {}
        times: list[float] = []
        next_id = 1

        def send_next() -> None:
            nonlocal next_id
            sent[next_id] = time.perf_counter()
            self.send(tool_call(self.target, next_id))
            next_id += 1

        for _ in range(min(at_once, calls)):
            send_next()
        for response in self.responses():
            if response.get("id") not in sent:
                continue
            times.append(time.perf_counter() - sent.pop(response["id"]))
            check_response(self.target, response)
            if next_id <= calls:
                send_next()
            if len(times) == calls:
                return times
        raise ServerFailed(f"{self.target.name}: too few responses")

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Connection:
    """A persistent connection with one request at a time. Implements only the HTTP that the
    servers use, since a complete client would cost more than the server."""

    def __init__(self, target: Target, host: str | None, port: int | None) -> None:
        assert host and port
        self.target = target
        self.socket = socket.create_connection((host, port), _TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffered = b""
        self.number = 0

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, number: int, request: bytes) -> None:
        self.number = number
        self.socket.sendall(request)

    def receive(self) -> dict[str, Any] | None:
        """Returns the response; None while it is incomplete."""
        chunk = self.socket.recv(1 << 16)
        if not chunk:
            raise ServerFailed(f"{self.target.name}: the server closed the connection")
        self.buffered += chunk
        head, found, body = self.buffered.partition(b"\r\n\r\n")
        if not found:
            return None
        head = head.lower()
        if b"transfer-encoding: chunked" in head:
            if body != b"0\r\n\r\n" and not body.endswith(b"\r\n0\r\n\r\n"):
                return None
            body = decode_chunked(body)
        else:
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
            if len(body) < int(length or 0):
                return None
        self.buffered = b""
        if b"text/event-stream" not in head:
            return json.loads(body or b"{}")
        for line in body.splitlines():
            if line.startswith(b"data:") and len(line) > 8:
                data = json.loads(line[5:])
                if data.get("id") == self.number:
                    return data
        raise ServerFailed(f"{self.target.name}: the stream contains no response")


def decode_chunked(chunks: bytes) -> bytes:
    """Returns the content of a chunked body."""
    parts = []
    while chunks:
        size, _, chunks = chunks.partition(b"\r\n")
        length = int(size, 16)
        parts.append(chunks[:length])
        chunks = chunks[length + 2 :]
        if not length:
            break
    return b"".join(parts)


class Http:
    """An HTTP server, with persistent connections."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.started_at = time.perf_counter()
        self.session: str | None = None
        self.process = subprocess.Popen(
            target.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=target.environment,
            text=True,
        )
        assert self.process.stdout
        url = target.url or self.process.stdout.readline().strip()
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path

    def connection(self) -> http.client.HTTPConnection:
        assert self.host and self.port
        return http.client.HTTPConnection(self.host, self.port, timeout=_TIMEOUT_S)

    def open(self) -> float:
        deadline = time.perf_counter() + _TIMEOUT_S
        while True:
            connection = self.connection()
            try:
                response = self.post(connection, first_request(self.target))
                break
            except OSError:
                connection.close()
                if time.perf_counter() > deadline or self.process.poll() is not None:
                    raise ServerFailed(f"{self.target.name}: the server does not listen") from None
                time.sleep(0.001)
        elapsed = time.perf_counter() - self.started_at
        check_response(self.target, response)
        if self.target.protocol != MODERN:
            self.post(connection, INITIALIZED)
        connection.close()
        return elapsed

    def post(
        self, connection: http.client.HTTPConnection, message: dict[str, Any]
    ) -> dict[str, Any]:
        body = json.dumps(message, separators=(",", ":")).encode()
        connection.request("POST", self.path, body, self.headers(message))
        response = connection.getresponse()
        self.session = response.headers.get("Mcp-Session-Id") or self.session
        if "id" not in message:
            response.read()
            return {}
        if "text/event-stream" not in response.headers.get("Content-Type", ""):
            return json.loads(response.read() or b"{}")
        found: dict[str, Any] = {}
        # Reads to the end, so that the connection can be reused.
        for line in response:
            if line.startswith(b"data:") and len(line) > 8:
                data = json.loads(line[5:])
                found = data if data.get("id") == message["id"] else found
        return found

    def headers(self, message: dict[str, Any]) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": self.target.protocol,
            **self.target.headers,
        }
        if message.get("method") == "initialize":
            del headers["MCP-Protocol-Version"]
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if self.target.protocol == MODERN:
            headers["Mcp-Method"] = message["method"]
            if "name" in message.get("params", {}):
                headers["Mcp-Name"] = message["params"]["name"]
        return headers

    def run(self, calls: int, at_once: int) -> list[float]:
        """Runs all connections in one thread: Python threads alternate, and the time that they
        wait for each other would be attributed to the server."""
        numbers = iter(range(1, calls + 1))
        times: list[float] = []
        sent: dict[int, float] = {}
        first = tool_call(self.target, 0)
        lines = [f"{name}: {value}" for name, value in self.headers(first).items()]
        head = f"POST {self.path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
        head += "\r\n".join(lines) + "\r\nContent-Length: "

        def send_next(connection: Connection) -> bool:
            number = next(numbers, None)
            if number is None:
                return False
            body = json.dumps(tool_call(self.target, number), separators=(",", ":"))
            sent[number] = time.perf_counter()
            connection.send(number, f"{head}{len(body.encode())}\r\n\r\n{body}".encode())
            return True

        with selectors.DefaultSelector() as selector, contextlib.ExitStack() as connections:
            for _ in range(min(at_once, calls)):
                connection = Connection(self.target, self.host, self.port)
                connections.enter_context(connection)
                selector.register(connection.socket, selectors.EVENT_READ, connection)
                send_next(connection)
            while len(times) < calls:
                events = selector.select(_TIMEOUT_S)
                if not events:
                    raise ServerFailed(f"{self.target.name}: no response within {_TIMEOUT_S} s")
                for key, _ in events:
                    response = key.data.receive()
                    if response is None:
                        continue
                    times.append(time.perf_counter() - sent.pop(key.data.number))
                    check_response(self.target, response)
                    send_next(key.data)
        return times

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()


def start(target: Target) -> Pipe | Http:
    return Pipe(target) if target.url is None else Http(target)


def first_response(target: Target) -> float:
    """Returns the median of several starts, since this program is cold at the first one."""
    times = []
    for _ in range(_STARTS):
        server = start(target)
        try:
            times.append(server.open())
        finally:
            server.close()
    return sorted(times)[_STARTS // 2]


def measure(target: Target, calls: int, concurrency: Sequence[int]) -> Measurement:
    """Starts, measures and stops the server."""
    first = first_response(target)
    server = start(target)
    pid = server.process.pid
    try:
        server.open()
        idle = memory(pid, "VmRSS:")
        server.run(min(calls, 50), 1)  # Warms up.
        figures = []
        for at_once in concurrency:
            cpu_before, started_at = cpu_seconds(pid), time.perf_counter()
            times = sorted(server.run(calls, at_once))
            wall, cpu = time.perf_counter() - started_at, cpu_seconds(pid) - cpu_before
            figures.append(
                Figures(
                    calls=calls,
                    at_once=at_once,
                    rate_per_s=calls / wall,
                    p50_ms=times[len(times) // 2] * 1000,
                    p99_ms=times[min(len(times) - 1, len(times) * 99 // 100)] * 1000,
                    cpu_ms_per_call=cpu * 1000 / calls,
                )
            )
        peak = memory(pid, "VmHWM:")
    finally:
        server.close()
    return Measurement(target.name, first * 1000, idle, peak, figures)

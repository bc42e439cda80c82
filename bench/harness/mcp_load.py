"""A load client for MCP servers: plain JSON-RPC over a pipe or HTTP, nothing but the
standard library, so that the client costs every server the same.

It measures the time to the first response, calls one after another and side by side, and
what the kernel accounted to the server's process meanwhile.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
_TICKS = os.sysconf("SC_CLK_TCK")
_TIMEOUT_S = 60
_CLIENT = {"name": "load", "version": "1"}


class ServerFailed(Exception):
    """The server did not do what was asked of it, so its time means nothing."""


@dataclass(frozen=True)
class Target:
    """A server to be measured."""

    name: str
    command: Sequence[str]
    tool: str
    arguments: Mapping[str, Any]
    protocol: str = LEGACY
    url: str | None = None
    """Where it listens, if not on its standard input; the first line of its output if empty."""
    headers: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Figures:
    """What came of one number of calls at one degree of concurrency."""

    calls: int
    at_once: int
    rate_per_s: float
    p50_ms: float
    p99_ms: float
    cpu_ms_per_call: float


@dataclass(frozen=True)
class Measured:
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


def opening(target: Target) -> dict[str, Any]:
    if target.protocol == MODERN:
        return request(target, 0, "server/discover", {})
    params = {"protocolVersion": target.protocol, "capabilities": {}, "clientInfo": _CLIENT}
    return request(target, 0, "initialize", params)


def call(target: Target, number: int) -> dict[str, Any]:
    params = {"name": target.tool, "arguments": dict(target.arguments)}
    return request(target, number, "tools/call", params)


def check(target: Target, answer: dict[str, Any]) -> None:
    if "result" not in answer or answer["result"].get("isError"):
        raise ServerFailed(f"{target.name}: {json.dumps(answer)[:300]}")


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Pipe:
    """A server on its standard input and output."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            target.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=target.environment,
        )
        assert self.process.stdin and self.process.stdout
        self.out = self.process.stdin.fileno()
        self.into = self.process.stdout.fileno()
        self.kept = b""

    def open(self) -> float:
        self.send(opening(self.target))
        for answer in self.answers():
            if answer.get("id") == 0:
                break
        taken = time.perf_counter() - self.begun
        check(self.target, answer)
        if self.target.protocol != MODERN:
            self.send(INITIALIZED)
        return taken

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        while data:
            data = data[os.write(self.out, data) :]

    def answers(self) -> Iterator[dict[str, Any]]:
        while True:
            line, found, rest = self.kept.partition(b"\n")
            if found:
                self.kept = rest
                yield json.loads(line)
                continue
            ready, _, _ = select.select([self.into], [], [], _TIMEOUT_S)
            more = os.read(self.into, 1 << 16) if ready else b""
            if not more:
                raise ServerFailed(f"{self.target.name}: no answer")
            self.kept += more

    def run(self, calls: int, at_once: int) -> list[float]:
        sent: dict[int, float] = {}
        times: list[float] = []
        following = 1

        def send_next() -> None:
            nonlocal following
            sent[following] = time.perf_counter()
            self.send(call(self.target, following))
            following += 1

        for _ in range(min(at_once, calls)):
            send_next()
        for answer in self.answers():
            if answer.get("id") not in sent:
                continue
            times.append(time.perf_counter() - sent.pop(answer["id"]))
            check(self.target, answer)
            if following <= calls:
                send_next()
            if len(times) == calls:
                return times
        raise ServerFailed(f"{self.target.name}: too few answers")

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Http:
    """A server that listens, with connections that are kept open."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.begun = time.perf_counter()
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
        until = time.perf_counter() + _TIMEOUT_S
        while True:
            connection = self.connection()
            try:
                answer = self.post(connection, opening(self.target))
                break
            except OSError:
                connection.close()
                if time.perf_counter() > until or self.process.poll() is not None:
                    raise ServerFailed(f"{self.target.name}: does not listen") from None
                time.sleep(0.001)
        taken = time.perf_counter() - self.begun
        check(self.target, answer)
        if self.target.protocol != MODERN:
            self.post(connection, INITIALIZED)
        connection.close()
        return taken

    def post(
        self, connection: http.client.HTTPConnection, message: dict[str, Any]
    ) -> dict[str, Any]:
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
        body = json.dumps(message, separators=(",", ":")).encode()
        connection.request("POST", self.path, body, headers)
        answer = connection.getresponse()
        self.session = answer.headers.get("Mcp-Session-Id") or self.session
        if "id" not in message:
            answer.read()
            return {}
        if "text/event-stream" not in answer.headers.get("Content-Type", ""):
            return json.loads(answer.read() or b"{}")
        found: dict[str, Any] = {}
        # To the end, so that the connection can be used again.
        for line in answer:
            if line.startswith(b"data:") and len(line) > 8:
                data = json.loads(line[5:])
                found = data if data.get("id") == message["id"] else found
        return found

    def run(self, calls: int, at_once: int) -> list[float]:
        numbers = iter(range(1, calls + 1))
        lock = threading.Lock()
        times: list[float] = []
        failures: list[BaseException] = []

        def work() -> None:
            connection = self.connection()
            try:
                while not failures:
                    with lock:
                        number = next(numbers, None)
                    if number is None:
                        return
                    begun = time.perf_counter()
                    answer = self.post(connection, call(self.target, number))
                    taken = time.perf_counter() - begun
                    check(self.target, answer)
                    with lock:
                        times.append(taken)
            except BaseException as failure:  # noqa: BLE001 - told to whoever waits
                failures.append(failure)
            finally:
                connection.close()

        threads = [threading.Thread(target=work) for _ in range(at_once)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise ServerFailed(f"{self.target.name}: {failures[0]}")
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


def measure(target: Target, calls: int, concurrency: Sequence[int]) -> Measured:
    """Starts the server, measures it, ends it."""
    server = Pipe(target) if target.url is None else Http(target)
    pid = server.process.pid
    try:
        first = server.open()
        idle = memory(pid, "VmRSS:")
        server.run(min(calls, 50), 1)  # What is made at the first call is not the call's.
        figures = []
        for at_once in concurrency:
            before, begun = cpu_seconds(pid), time.perf_counter()
            times = sorted(server.run(calls, at_once))
            wall, cpu = time.perf_counter() - begun, cpu_seconds(pid) - before
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
    return Measured(target.name, first * 1000, idle, peak, figures)

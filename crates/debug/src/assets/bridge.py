"""Runs a program under debugpy's debugger, and forwards its messages.

Argument: JSON with `boot` (the script that the program's interpreter runs
first) and `what` (the argument of that script). Messages of the Debug Adapter
Protocol use standard input and output; the program's output becomes messages
too. The debugger uses a socket pair, so no network is needed.
"""
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time

CHUNK_BYTES = 1 << 16


def send(message):
    body = json.dumps(message).encode()
    write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


def write(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view):]


def event(name, **body):
    send({"seq": 0, "type": "event", "event": name, "body": body})


class FrameBuffer:
    """Splits a stream into whole messages, so others can be sent in between."""

    def __init__(self):
        self.data = bytearray()

    def feed(self, data):
        self.data += data
        while True:
            end = self.data.find(b"\r\n\r\n")
            if end < 0:
                return
            size = 0
            for line in bytes(self.data[:end]).split(b"\r\n"):
                name, _, value = line.partition(b":")
                if name.strip().lower() == b"content-length":
                    size = int(value)
            if len(self.data) < end + 4 + size:
                return
            yield bytes(self.data[:end + 4 + size])
            del self.data[:end + 4 + size]


def condition_error(condition):
    """Returns why a condition cannot be parsed; None if it can."""
    try:
        compile(condition.lstrip(), "<condition>", "eval")
    except (SyntaxError, ValueError) as error:
        return "the condition cannot be parsed: %s" % (getattr(error, "msg", None) or error)


class ConditionChecks:
    """Checks conditions early; the debugger notices errors only when it gets there."""

    def __init__(self):
        self.pending = {}
        self.errors = {}

    def check_request(self, message):
        """Checks the conditions in a request."""
        if message.get("command") not in ("setBreakpoints", "setFunctionBreakpoints"):
            return
        points = (message.get("arguments") or {}).get("breakpoints") or []
        conditions = [point.get("condition") for point in points]
        self.pending[message.get("seq")] = [text and condition_error(text) for text in conditions]

    def amend_message(self, message):
        """Adds the errors to a message; returns whether there are any."""
        body = message.get("body") or {}
        if message.get("type") == "response":
            errors = self.pending.pop(message.get("request_seq"), [])
            points = body.get("breakpoints") or []
            for point, error in zip(points, errors):
                self.errors[point.get("id")] = error
        elif message.get("event") == "breakpoint":
            points = [body.get("breakpoint") or {}]
        else:
            return False
        invalid = [point for point in points if self.errors.get(point.get("id"))]
        for point in invalid:
            point.update(verified=False, message=self.errors[point["id"]])
        return bool(invalid)


def parse_frame(frame):
    return json.loads(frame.partition(b"\r\n\r\n")[2])


def read_available(fd):
    """Returns the available data; None if there is none, b"" at the end."""
    try:
        return os.read(fd, CHUNK_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""


class Bridge:
    def __init__(self, config):
        self.debugger, child_end = socket.socketpair()
        os.set_inheritable(child_end.fileno(), True)
        boot_config = dict(config["what"], fd=child_end.fileno())
        self.child = subprocess.Popen(
            [sys.executable, "-X", "frozen_modules=off", "-c", config["boot"], json.dumps(boot_config)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            close_fds=False, start_new_session=True)
        child_end.close()
        self.output_streams = {
            self.child.stdout.fileno(): "stdout", self.child.stderr.fileno(): "stderr"}
        self.responses, self.requests = FrameBuffer(), FrameBuffer()
        self.conditions = ConditionChecks()
        self.is_open = True
        self.selector = selectors.DefaultSelector()
        for fd in [0, self.debugger.fileno(), *self.output_streams]:
            if fd:
                os.set_blocking(fd, False)
            self.selector.register(fd, selectors.EVENT_READ)

    def unregister(self, fd):
        self.selector.unregister(fd)

    def forward_output(self):
        """Forwards the available output; returns whether there was any."""
        forwarded = False
        for fd, name in list(self.output_streams.items()):
            data = read_available(fd)
            if data:
                event("output", category=name, output=data.decode("utf-8", "replace"))
                forwarded = True
            elif data == b"":
                self.unregister(fd)
                del self.output_streams[fd]
        return forwarded

    def forward_responses(self):
        data = read_available(self.debugger.fileno())
        # Output printed before a message is forwarded before it.
        while self.forward_output():
            pass
        if data == b"":
            self.unregister(self.debugger.fileno())
            self.is_open = False
        elif data:
            for frame in self.responses.feed(data):
                # Most messages are forwarded unchanged.
                message = parse_frame(frame) if b"reakpoint" in frame else {}
                if self.conditions.amend_message(message):
                    send(message)
                else:
                    write(frame)

    def forward_requests(self):
        data = os.read(0, CHUNK_BYTES)
        if not data:
            self.terminate()
            sys.exit(0)
        for frame in self.requests.feed(data):
            if b"reakpoints" in frame:
                self.conditions.check_request(parse_frame(frame))
        self.debugger.setblocking(True)
        try:
            self.debugger.sendall(data)
        except OSError:
            pass
        self.debugger.setblocking(False)

    def terminate(self):
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.child.pid, signal_number)
            except OSError:
                pass
            deadline = time.monotonic() + 1
            while time.monotonic() < deadline:
                if self.child.poll() is not None:
                    break
                time.sleep(0.01)

    def run(self):
        while self.child.poll() is None:
            ready = {key.fd for key, _ in self.selector.select(0.2)}
            if ready & set(self.output_streams):
                self.forward_output()
            if self.is_open and self.debugger.fileno() in ready:
                self.forward_responses()
            if 0 in ready:
                self.forward_requests()
        if self.is_open:
            self.forward_responses()
        deadline = time.monotonic() + 1
        while self.output_streams and time.monotonic() < deadline:
            if not self.forward_output():
                time.sleep(0.01)
        event("exited", exitCode=self.child.returncode)
        event("terminated")


Bridge(json.loads(sys.argv[1])).run()

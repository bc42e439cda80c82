"""Runs a program under debugpy's debugger, and carries its messages.

Argument: JSON with `boot` (what the program's interpreter runs first) and
`what` (what it is told). Messages of the Debug Adapter Protocol go in and out
by standard input and output. What the program prints becomes messages, too.
No network is needed: the debugger speaks on one end of a pair of sockets.
"""
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time

CHUNK = 1 << 16


def send(message):
    body = json.dumps(message).encode()
    write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


def write(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view):]


def event(name, **body):
    send({"seq": 0, "type": "event", "event": name, "body": body})


class Frames:
    """Whole messages out of a stream, so that others fit between them."""

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


def unreadable(condition):
    """Why a condition is none; nothing if it is one."""
    try:
        compile(condition.lstrip(), "<condition>", "eval")
    except (SyntaxError, ValueError) as error:
        return "the condition cannot be read: %s" % (getattr(error, "msg", None) or error)


class Conditions:
    """The debugger takes every condition, and sees when it gets there."""

    def __init__(self):
        self.asked = {}
        self.wrong = {}

    def ask(self, message):
        """Looks at a request."""
        if message.get("command") not in ("setBreakpoints", "setFunctionBreakpoints"):
            return
        points = (message.get("arguments") or {}).get("breakpoints") or []
        conditions = [point.get("condition") for point in points]
        self.asked[message.get("seq")] = [text and unreadable(text) for text in conditions]

    def answer(self, message):
        """Puts into an answer what is wrong; whether something is."""
        body = message.get("body") or {}
        if message.get("type") == "response":
            wrong = self.asked.pop(message.get("request_seq"), [])
            points = body.get("breakpoints") or []
            for point, why in zip(points, wrong):
                self.wrong[point.get("id")] = why
        elif message.get("event") == "breakpoint":
            points = [body.get("breakpoint") or {}]
        else:
            return False
        some = [point for point in points if self.wrong.get(point.get("id"))]
        for point in some:
            point.update(verified=False, message=self.wrong[point["id"]])
        return bool(some)


def parsed(frame):
    return json.loads(frame.partition(b"\r\n\r\n")[2])


def take(fd):
    """What is there to read; none if nothing is, and nothing at its end."""
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


class Bridge:
    def __init__(self, told):
        self.ours, theirs = socket.socketpair()
        os.set_inheritable(theirs.fileno(), True)
        what = dict(told["what"], fd=theirs.fileno())
        self.child = subprocess.Popen(
            [sys.executable, "-X", "frozen_modules=off", "-c", told["boot"], json.dumps(what)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            close_fds=False, start_new_session=True)
        theirs.close()
        self.prints = {
            self.child.stdout.fileno(): "stdout", self.child.stderr.fileno(): "stderr"}
        self.frames, self.requests = Frames(), Frames()
        self.conditions = Conditions()
        self.is_open = True
        self.choose = selectors.DefaultSelector()
        for fd in [0, self.ours.fileno(), *self.prints]:
            if fd:
                os.set_blocking(fd, False)
            self.choose.register(fd, selectors.EVENT_READ)

    def leave(self, fd):
        self.choose.unregister(fd)

    def printed(self):
        """Passes on what was printed; whether there was something."""
        some = False
        for fd, name in list(self.prints.items()):
            data = take(fd)
            if data:
                event("output", category=name, output=data.decode("utf-8", "replace"))
                some = True
            elif data == b"":
                self.leave(fd)
                del self.prints[fd]
        return some

    def spoken(self):
        data = take(self.ours.fileno())
        # What was printed before a message is told before it.
        while self.printed():
            pass
        if data == b"":
            self.leave(self.ours.fileno())
            self.is_open = False
        elif data:
            for frame in self.frames.feed(data):
                # Most is passed on as it is.
                message = parsed(frame) if b"reakpoint" in frame else {}
                if self.conditions.answer(message):
                    send(message)
                else:
                    write(frame)

    def asked(self):
        data = os.read(0, CHUNK)
        if not data:
            self.end()
            sys.exit(0)
        for frame in self.requests.feed(data):
            if b"reakpoints" in frame:
                self.conditions.ask(parsed(frame))
        self.ours.setblocking(True)
        try:
            self.ours.sendall(data)
        except OSError:
            pass
        self.ours.setblocking(False)

    def end(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.child.pid, number)
            except OSError:
                pass
            until = time.monotonic() + 1
            while time.monotonic() < until:
                if self.child.poll() is not None:
                    break
                time.sleep(0.01)

    def run(self):
        while self.child.poll() is None:
            ready = {key.fd for key, _ in self.choose.select(0.2)}
            if ready & set(self.prints):
                self.printed()
            if self.is_open and self.ours.fileno() in ready:
                self.spoken()
            if 0 in ready:
                self.asked()
        if self.is_open:
            self.spoken()
        until = time.monotonic() + 1
        while self.prints and time.monotonic() < until:
            if not self.printed():
                time.sleep(0.01)
        event("exited", exitCode=self.child.returncode)
        event("terminated")


Bridge(json.loads(sys.argv[1])).run()

"""A client of the tasks extension that puts `hermes mcp serve` to the test.

    tasks.py HERMES [ARGUMENTS...]

Only the standard library: what is sent is what is written here. Both eras of
the protocol are tried side by side.
"""

import json
import subprocess
import sys
import threading
import time

MODERN, LEGACY = "2026-07-28", "2025-11-25"
ABOUT = "io.modelcontextprotocol/"
KNOWS = {"extensions": {ABOUT + "tasks": {}}}


class Client:
    def __init__(self, era, can):
        self.era, self.can, self.next = era, can, 0
        self.server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if era == LEGACY:
            hello = self.ask("initialize", protocolVersion=era, capabilities=can,
                             clientInfo={"name": "t", "version": "0"})
            found = hello["result"]
        else:
            found = self.ask("server/discover")["result"]
        assert ABOUT + "tasks" in found["capabilities"]["extensions"], found

    def ask(self, method, **params):
        self.next += 1
        if self.era == MODERN:
            params["_meta"] = {ABOUT + "protocolVersion": MODERN, ABOUT + "clientCapabilities": self.can,
                               ABOUT + "clientInfo": {"name": "t", "version": "0"}}
        message = {"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}
        self.server.stdin.write(json.dumps(message) + "\n")
        self.server.stdin.flush()
        while True:
            answer = json.loads(self.server.stdout.readline())
            if answer.get("id") == self.next:
                return answer

    def run(self, command):
        return self.ask("tools/call", name="terminal", arguments={"command": command})["result"]

    def until(self, task, wanted):
        until = time.monotonic() + 20
        while True:
            state = self.ask("tasks/get", taskId=task)["result"]
            assert state["taskId"] == task, state
            if state["status"] != "working":
                assert state["status"] == wanted, state
                return state
            assert time.monotonic() < until, state
            time.sleep(0.01)

    def close(self):
        self.server.stdin.close()
        assert self.server.wait(20) == 0


def try_era(era):
    client = Client(era, KNOWS)
    quick = client.run("echo at once")
    assert quick.get("resultType", "complete") == "complete", quick
    assert "at once" in quick["content"][0]["text"], quick

    made = client.run("sleep 1.2; echo in the end")
    assert made["resultType"] == "task" and made["status"] == "working", made
    assert made["pollIntervalMs"] > 0 and made["ttlMs"] > 0, made
    done = client.until(made["taskId"], "completed")
    assert "in the end" in done["result"]["content"][0]["text"], done
    assert done["result"]["structuredContent"]["exit_code"] == 0, done

    long = client.run("sleep 300")
    assert long["resultType"] == "task", long
    assert "error" not in client.ask("tasks/cancel", taskId=long["taskId"])
    client.until(long["taskId"], "cancelled")
    assert client.ask("tasks/get", taskId="nobody")["error"]["code"] == -32602
    client.close()


def try_ignorant(era):
    """Who does not know of tasks waits, and is told so if it asks after one."""
    client = Client(era, {})
    waited = client.run("sleep 1.2; echo in the end")
    assert waited.get("resultType", "complete") == "complete", waited
    assert "in the end" in waited["content"][0]["text"], waited
    assert client.ask("tasks/get", taskId="x")["error"]["code"] == -32021
    client.close()


failed = []


def attempt(work, era):
    try:
        work(era)
    except BaseException as error:
        failed.append((work.__name__, era, repr(error)))


threads = [threading.Thread(target=attempt, args=(work, era))
           for work in (try_era, try_ignorant) for era in (LEGACY, MODERN)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, failed
print("all well")

"""Tests `hermes mcp serve` with a client of the tasks extension.

    tasks.py HERMES [ARGUMENTS...]

Uses only the standard library, so the messages are exactly those below. Tests both
versions of the protocol concurrently.
"""

import json
import subprocess
import sys
import threading
import time

MODERN, LEGACY = "2026-07-28", "2025-11-25"
PREFIX = "io.modelcontextprotocol/"
SUPPORTS_TASKS = {"extensions": {PREFIX + "tasks": {}}}


class Client:
    def __init__(self, version, capabilities):
        self.version, self.capabilities, self.last_id = version, capabilities, 0
        self.server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if version == LEGACY:
            result = self.request("initialize", protocolVersion=version, capabilities=capabilities,
                                  clientInfo={"name": "t", "version": "0"})["result"]
        else:
            result = self.request("server/discover")["result"]
        assert PREFIX + "tasks" in result["capabilities"]["extensions"], result

    def request(self, method, **params):
        self.last_id += 1
        if self.version == MODERN:
            params["_meta"] = {PREFIX + "protocolVersion": MODERN, PREFIX + "clientCapabilities": self.capabilities,
                               PREFIX + "clientInfo": {"name": "t", "version": "0"}}
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        self.server.stdin.write(json.dumps(message) + "\n")
        self.server.stdin.flush()
        while True:
            response = json.loads(self.server.stdout.readline())
            if response.get("id") == self.last_id:
                return response

    def run(self, command):
        return self.request("tools/call", name="terminal", arguments={"command": command})["result"]

    def wait_for_end(self, task, expected):
        deadline = time.monotonic() + 20
        while True:
            state = self.request("tasks/get", taskId=task)["result"]
            assert state["taskId"] == task, state
            if state["status"] != "working":
                assert state["status"] == expected, state
                return state
            assert time.monotonic() < deadline, state
            time.sleep(0.01)

    def close(self):
        self.server.stdin.close()
        assert self.server.wait(20) == 0


def test_tasks(version):
    client = Client(version, SUPPORTS_TASKS)
    quick = client.run("echo at once")
    assert quick.get("resultType", "complete") == "complete", quick
    assert "at once" in quick["content"][0]["text"], quick

    task = client.run("sleep 1.2; echo in the end")
    assert task["resultType"] == "task" and task["status"] == "working", task
    assert task["pollIntervalMs"] > 0 and task["ttlMs"] > 0, task
    done = client.wait_for_end(task["taskId"], "completed")
    assert "in the end" in done["result"]["content"][0]["text"], done
    assert done["result"]["structuredContent"]["exit_code"] == 0, done

    long = client.run("sleep 300")
    assert long["resultType"] == "task", long
    assert "error" not in client.request("tasks/cancel", taskId=long["taskId"])
    client.wait_for_end(long["taskId"], "cancelled")
    assert client.request("tasks/get", taskId="nobody")["error"]["code"] == -32602
    client.close()


def test_without_tasks(version):
    """A client without the extension waits, and task requests fail."""
    client = Client(version, {})
    waited = client.run("sleep 1.2; echo in the end")
    assert waited.get("resultType", "complete") == "complete", waited
    assert "in the end" in waited["content"][0]["text"], waited
    assert client.request("tasks/get", taskId="x")["error"]["code"] == -32021
    client.close()


failures = []


def run(test, version):
    try:
        test(version)
    except BaseException as error:
        failures.append((test.__name__, version, repr(error)))


threads = [threading.Thread(target=run, args=(test, version))
           for test in (test_tasks, test_without_tasks) for version in (LEGACY, MODERN)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures
print("all well")

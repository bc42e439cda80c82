"""An MCP server in plain JSON-RPC that can do everything wrong.

    odd.py [MODE...]

Modes: hang, exit, garbage (says nothing else), flood (of errors, and says
nothing), wrong (answers have other numbers than the questions), modern, deaf
(dies at a question that it does not know), silent (does not answer a question
that it does not know), late (speaks both ways, but takes its time to say so),
twice (a name twice and a tool that is none), refuse (the greeting), ancient
(speaks a version that nobody knows), nameless (does not say who it is), grow (has
one tool more just before it tells news), tools=FILE
(definitions from a file, read anew for each list).
"""
import json
import os
import subprocess
import sys
import threading
import time

MODES = dict((m.split("=", 1) + [""])[:2] for m in sys.argv[1:])
MODERN = "modern" in MODES
OUT = threading.Lock()
EXTRA = []
WAITING = {}
CANCELLED = set()
GATE = threading.Condition()
INSIDE, MOST = set(), 0
LISTENING = []
TASKS = {}
CLIENT = {}
EXTENSION = "io.modelcontextprotocol/tasks"


def send(message):
    line = json.dumps({"jsonrpc": "2.0", **message})
    with OUT:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def answer(id, result):
    if MODERN:
        result = {"resultType": "complete", **result}
    send({"id": id, "result": result})


def refuse(id, code, text, data=None):
    send({"id": id, "error": {"code": code, "message": text, **({"data": data} if data else {})}})


def tool(name, **more):
    return {"name": name, "description": "The tool " + name + ".",
            "inputSchema": {"type": "object", "properties": {}, "additionalProperties": True}, **more}


NAMES = ("echo env pid die flood garbage wrong_id sleep progress structured image fail add_tool "
         "spawn elicit visit pay sample roots big cancelled log count meet here deep task left old_task worded_task refuse hologram").split()


def tools():
    if MODES.get("tools"):
        with open(MODES["tools"]) as file:
            return json.load(file)
    listed = [tool(name) for name in NAMES]
    listed.append(tool("safe_die", annotations={"readOnlyHint": True}))
    listed.append(tool("look", annotations={"readOnlyHint": True}))
    listed.append(tool("change", annotations={"readOnlyHint": False}))
    if "twice" in MODES:
        listed += [tool("echo"), {"name": "no_schema", "description": "x"}, {"description": "no name"},
                   {"name": "of_text", "inputSchema": {"type": "string"}},
                   {"name": "of_any", "inputSchema": {"type": ["object", "null"]}}]
    return listed + EXTRA


def ask(method, params):
    """A request of our own, the older way."""
    id = "s%d" % (len(WAITING) + 1)
    WAITING[id] = (threading.Event(), [])
    send({"id": id, "method": method, "params": params})
    WAITING[id][0].wait(10)
    return WAITING[id][1][0]


def meet(id, count):
    """Waits until so many calls are here at once; how many were, at most."""
    global MOST
    with GATE:
        INSIDE.add(id)
        MOST = max(MOST, len(INSIDE))
        GATE.notify_all()
        GATE.wait_for(lambda: MOST >= count, 10)
    time.sleep(0.01)
    with GATE:
        INSIDE.discard(id)
        return MOST


def described(id):
    task = TASKS[id]
    return {"taskId": id, "status": task["status"], "statusMessage": "poll %d" % task["polls"],
            "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
            "ttlMs": None, "pollIntervalMs": 20}


def begin_task(id, params):
    """A call that goes on after its answer; `ends` says how."""
    told = (params.get("_meta") or {}).get("io.modelcontextprotocol/clientCapabilities") or CLIENT
    if EXTENSION not in told.get("extensions", {}):
        return refuse(id, -32021, "Only with tasks")
    task = "task-%d" % (len(TASKS) + 1)
    TASKS[task] = {"status": "working", "polls": 0, "cancelled": False, **params["arguments"]}
    send({"id": id, "result": {"resultType": "task", **described(task)}})


def look_after(id, method, params):
    task = TASKS.get(params.get("taskId"))
    if task is None:
        return refuse(id, -32602, "unknown task")
    if method == "tasks/cancel":
        task["cancelled"] = True
        return answer(id, {"resultType": "complete"})
    if method == "tasks/update":
        task.update(status="completed", result=text(params["inputResponses"]["q"]))
        return answer(id, {"resultType": "complete"})
    task["polls"] += 1
    if method == "tasks/result":
        if task["ends"] != "never":
            answer(id, {**text("old and done"),
                        "_meta": {"io.modelcontextprotocol/related-task": {"taskId": params["taskId"]}}})
        return None
    more = {}
    if task["polls"] >= 3 and task["status"] == "working" and task["ends"] != "never":
        task["status"] = {"asks": "input_required"}.get(task["ends"], task["ends"])
    if task["ends"] == "dies" and task["polls"] >= 3:
        os._exit(3)
    if task["status"] == "input_required":
        more = {"inputRequests": {"q": {"method": "elicitation/create",
                                        "params": {"mode": "form", **FORM}}}}
    elif task["status"] == "completed":
        more = {"result": task.get("result") or text("done after %d" % task["polls"])}
    elif task["status"] == "failed":
        more = {"error": {"code": -32603, "message": "the press is jammed"}}
    answer(id, {"resultType": "complete", **described(params["taskId"]), **more})


FORM = {"message": "Who are you?", "requestedSchema": {
    "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}
SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}], "maxTokens": 10}


def text(value):
    return {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}]}


def call(id, params):
    name, given = params.get("name"), params.get("arguments") or {}
    token = (params.get("_meta") or {}).get("progressToken")
    asked = {"elicit": ("elicitation/create", {"mode": "form", **FORM}),
             "visit": ("elicitation/create", {"mode": "url", "message": "Pay", "url": "https://pay.example/",
                                              "elicitationId": "1"}),
             "sample": ("sampling/createMessage", SAMPLE), "roots": ("roots/list", {})}
    if name in asked:
        method, wanted = asked[name]
        if not MODERN:
            return answer(id, text(ask(method, wanted)))
        given_back = params.get("inputResponses")
        if not given_back:
            return send({"id": id, "result": {
                "resultType": "input_required", "requestState": "st",
                "inputRequests": {"q": {"method": method, "params": wanted}}}})
        if params.get("requestState") != "st":
            return refuse(id, -32602, "the state is gone")
        return answer(id, text(given_back["q"]))
    if name == "pay":
        # Only after the user has been somewhere.
        if not os.path.exists(given["file"]):
            return refuse(id, -32042, "Pay first", {"elicitations": [
                {"mode": "url", "message": "Pay", "url": given["url"], "elicitationId": "7"}]})
        return answer(id, text("paid"))
    if name == "task":
        return begin_task(id, params)
    if name in ("old_task", "worded_task"):
        # The way of 2025-11-25: a tool that can only be called as a task.
        if "task" not in params:
            if name == "old_task":
                return refuse(id, -32601, "Only as a task")
            return answer(id, {**text("MCP error -32601: only as a task"), "isError": True})
        task = "old-%d" % (len(TASKS) + 1)
        TASKS[task] = {"status": "working", "polls": 0, "cancelled": False, **given}
        return answer(id, {"task": {"taskId": task, "status": "working", "ttl": None,
                                    "createdAt": "2026-01-01T00:00:00Z",
                                    "lastUpdatedAt": "2026-01-01T00:00:00Z"}})
    if name == "left":
        return answer(id, text(" ".join("cancelled" if task["cancelled"] else "asked" if task["polls"]
                                        else "begun" for task in TASKS.values())))
    if name == "echo":
        return answer(id, text(given.get("text", "")))
    if name == "env":
        return answer(id, text(dict(os.environ)))
    if name == "pid":
        return answer(id, text(str(os.getpid())))
    if name == "count":
        with open(given["file"], "a") as file:
            file.write("x")
        return answer(id, text("counted"))
    if name in ("die", "safe_die"):
        # Once: a file remembers that it has been.
        if not os.path.exists(given["file"]):
            open(given["file"], "w").close()
            sys.stderr.write("I am dying now\n")
            sys.stderr.flush()
            os._exit(3)
        return answer(id, text("alive again"))
    if name == "flood":
        for _ in range(64):
            sys.stderr.write("e" * 65536 + "\n")
        sys.stderr.flush()
        return answer(id, text("flooded"))
    if name == "garbage":
        with OUT:
            sys.stdout.write("this is no JSON\n{\"half\": \n\x00\x01\n[1,2]\n\n")
            sys.stdout.flush()
        return answer(id, text("after garbage"))
    if name == "wrong_id":
        return answer(id + 100000, text("for somebody else"))
    if name == "sleep":
        time.sleep(given.get("seconds", 0.1))
        if id in CANCELLED:
            return None
        return answer(id, text("slept"))
    if name in ("meet", "look", "change"):
        return answer(id, text(str(meet(id, given.get("count", 1)))))
    if name == "here":
        return answer(id, text(str(len(INSIDE))))
    if name == "cancelled":
        return answer(id, text(sorted(CANCELLED)))
    if name == "progress":
        for step in (1, 2, 3):
            send({"method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step, "total": 4, "message": "step %d" % step}})
            time.sleep(given.get("pause", 0))
        return answer(id, text("done"))
    if name == "log":
        send({"method": "notifications/message", "params": {"level": "warning", "data": "watch out"}})
        return answer(id, text("logged"))
    if name == "structured":
        return answer(id, {**text({"n": 5}), "structuredContent": {"n": 5}})
    if name == "image":
        return answer(id, {"content": [{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]})
    if name == "hologram":
        return answer(id, {"content": [{"type": "hologram", "light": 3}, {"type": "text", "text": "rest"}]})
    if name == "refuse":
        return refuse(id, -32000, "the quota is used up", {"left": 0})
    if name == "fail":
        return answer(id, {**text("there is no such thing"), "isError": True})
    if name == "add_tool":
        if MODERN and not LISTENING:
            return answer(id, text("nobody listens yet"))
        EXTRA.append(tool(given["name"]))
        told = {"params": {"_meta": {"io.modelcontextprotocol/subscriptionId": LISTENING[-1]}}} if MODERN else {}
        for _ in range(5):
            send({"method": "notifications/tools/list_changed", **told})
        return answer(id, text("added"))
    if name == "spawn":
        child = subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL)
        return answer(id, text(str(child.pid)))
    if name == "deep":
        with OUT:
            sys.stdout.write('{"jsonrpc":"2.0","id":%d,"result":{"structuredContent":%s%s}}\n'
                             % (id, "[" * 10000, "]" * 10000))
            sys.stdout.flush()
        return None
    if name == "big":
        piece = "x" * (1 << 20)
        with OUT:
            sys.stdout.write('{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id)
            for _ in range(given.get("megabytes", 100)):
                sys.stdout.write(piece)
            sys.stdout.write('"}]}}\n')
            sys.stdout.flush()
        return None
    if any(name == extra["name"] for extra in tools()):
        return answer(id, text("I am " + str(name)))
    return refuse(id, -32602, "Unknown tool: " + str(name))


def discover(id):
    answer(id, {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "odd", "version": "2"}, "ttlMs": 0, "cacheScope": "private"})


def main():
    if "exit" in MODES:
        sys.stderr.write("\x1b[31mERROR:\x1b[0m no licence found\n")
        sys.exit(7)
    if "hang" in MODES:
        sys.stderr.write("still loading\n")
        sys.stderr.flush()
        if "CHILD_NOTE" in os.environ:
            child = subprocess.Popen(["sleep", "600"], start_new_session=True)
            with open(os.environ["CHILD_NOTE"], "w") as file:
                file.write("%d\n" % child.pid)
        time.sleep(600)
    if "flood" in MODES:
        while True:
            sys.stderr.write("e" * 65536 + "\n")
            time.sleep(0.01)
    for line in sys.stdin:
        message = json.loads(line)
        method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
        if "garbage" in MODES:
            sys.stdout.write("{\"jsonrpc\": \"2.0\", \"id\": \n\x00nonsense\n[]\n")
            sys.stdout.flush()
            continue
        if "wrong" in MODES and id is not None:
            id = "not %s" % id
        if method is None:
            if id in WAITING:
                WAITING[id][1].append(message.get("result") or message.get("error"))
                WAITING[id][0].set()
        elif method == "notifications/cancelled":
            CANCELLED.add(params.get("requestId"))
        elif method == "initialize" and "refuse" in MODES:
            refuse(id, -32000, "the licence has expired")
        elif method == "initialize" and not MODERN:
            CLIENT.update(params.get("capabilities") or {})
            version = "1999-01-01" if "ancient" in MODES else params["protocolVersion"]
            named = {} if "nameless" in MODES else {"serverInfo": {"name": "odd", "version": "1"}}
            answer(id, {"protocolVersion": version,
                        "capabilities": {"tools": {"listChanged": True}, "logging": {}}, **named})
        elif method == "initialize" and "belated" in MODES:
            refuse(id, -32600, "this connection speaks 2026-07-28")
        elif method == "server/discover" and MODERN:
            time.sleep(0.3 if "belated" in MODES else 0)
            discover(id)
        elif method == "server/discover" and "deaf" in MODES:
            os._exit(9)
        elif method == "server/discover" and "silent" in MODES:
            pass
        elif method == "server/discover" and "late" in MODES:
            time.sleep(0.3)
            discover(id)
        elif method == "ping":
            answer(id, {})
        elif method == "tools/list":
            answer(id, {"tools": tools(), **({"ttlMs": 0, "cacheScope": "private"} if MODERN else {})})
        elif method == "tools/call":
            threading.Thread(target=call, args=(id, params), daemon=True).start()
        elif method.startswith("tasks/"):
            look_after(id, method, params)
        elif method == "subscriptions/listen":
            LISTENING.append(id)
            if "grow" in MODES:
                EXTRA.append(tool("grown"))
            send({"method": "notifications/subscriptions/acknowledged", "params": {
                "notifications": params.get("notifications", {}),
                "_meta": {"io.modelcontextprotocol/subscriptionId": id}}})
        elif id is not None:
            refuse(id, -32601, "Method not found")


main()

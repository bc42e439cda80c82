"""An MCP server in plain JSON-RPC that misbehaves on request.

    odd.py [MODE...]

Modes: hang, exit, garbage (prints invalid JSON), flood (of stderr, without
responses), wrong (responses have wrong ids), modern (only the newer protocol),
belated (modern, but slow to discover), deaf (exits at `server/discover`), silent
(does not respond to `server/discover`), late (supports both protocols, but responds
slowly), twice (a duplicate name and invalid tools), refuse (`initialize` fails),
ancient (an unknown protocol version), nameless (no `serverInfo`), grow (adds a tool
just before a subscription is acknowledged), tools=FILE (definitions from a file,
read for each list).
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
CONDITION = threading.Condition()
RUNNING, MAX_RUNNING = set(), 0
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
    """Sends a server request of the older protocol, and returns the response."""
    id = "s%d" % (len(WAITING) + 1)
    WAITING[id] = (threading.Event(), [])
    send({"id": id, "method": method, "params": params})
    WAITING[id][0].wait(10)
    return WAITING[id][1][0]


def meet(id, count):
    """Waits until `count` calls run concurrently; returns the maximum."""
    global MAX_RUNNING
    with CONDITION:
        RUNNING.add(id)
        MAX_RUNNING = max(MAX_RUNNING, len(RUNNING))
        CONDITION.notify_all()
        CONDITION.wait_for(lambda: MAX_RUNNING >= count, 10)
    time.sleep(0.01)
    with CONDITION:
        RUNNING.discard(id)
        return MAX_RUNNING


def task_state(id):
    task = TASKS[id]
    return {"taskId": id, "status": task["status"], "statusMessage": "poll %d" % task["polls"],
            "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
            "ttlMs": None, "pollIntervalMs": 20}


def begin_task(id, params):
    """Starts a task; the argument `ends` says how it ends."""
    capabilities = (params.get("_meta") or {}).get("io.modelcontextprotocol/clientCapabilities") or CLIENT
    if EXTENSION not in capabilities.get("extensions", {}):
        return refuse(id, -32021, "Only with tasks")
    task = "task-%d" % (len(TASKS) + 1)
    TASKS[task] = {"status": "working", "polls": 0, "cancelled": False, **params["arguments"]}
    send({"id": id, "result": {"resultType": "task", **task_state(task)}})


def handle_task(id, method, params):
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
    fields = {}
    if task["polls"] >= 3 and task["status"] == "working" and task["ends"] != "never":
        task["status"] = {"asks": "input_required"}.get(task["ends"], task["ends"])
    if task["ends"] == "dies" and task["polls"] >= 3:
        os._exit(3)
    if task["status"] == "input_required":
        fields = {"inputRequests": {"q": {"method": "elicitation/create",
                                        "params": {"mode": "form", **FORM}}}}
    elif task["status"] == "completed":
        fields = {"result": task.get("result") or text("done after %d" % task["polls"])}
    elif task["status"] == "failed":
        fields = {"error": {"code": -32603, "message": "the press is jammed"}}
    answer(id, {"resultType": "complete", **task_state(params["taskId"]), **fields})


FORM = {"message": "Who are you?", "requestedSchema": {
    "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}
SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}], "maxTokens": 10}


def text(value):
    return {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}]}


def call(id, params):
    name, arguments = params.get("name"), params.get("arguments") or {}
    token = (params.get("_meta") or {}).get("progressToken")
    server_requests = {
        "elicit": ("elicitation/create", {"mode": "form", **FORM}),
        "visit": ("elicitation/create", {"mode": "url", "message": "Pay", "url": "https://pay.example/",
                                         "elicitationId": "1"}),
        "sample": ("sampling/createMessage", SAMPLE), "roots": ("roots/list", {})}
    if name in server_requests:
        method, request_params = server_requests[name]
        if not MODERN:
            return answer(id, text(ask(method, request_params)))
        responses = params.get("inputResponses")
        if not responses:
            return send({"id": id, "result": {
                "resultType": "input_required", "requestState": "st",
                "inputRequests": {"q": {"method": method, "params": request_params}}}})
        if params.get("requestState") != "st":
            return refuse(id, -32602, "the state is gone")
        return answer(id, text(responses["q"]))
    if name == "pay":
        # Succeeds only after the user has visited the URL.
        if not os.path.exists(arguments["file"]):
            return refuse(id, -32042, "Pay first", {"elicitations": [
                {"mode": "url", "message": "Pay", "url": arguments["url"], "elicitationId": "7"}]})
        return answer(id, text("paid"))
    if name == "task":
        return begin_task(id, params)
    if name in ("old_task", "worded_task"):
        # Protocol 2025-11-25: a tool that can only be called as a task.
        if "task" not in params:
            if name == "old_task":
                return refuse(id, -32601, "Only as a task")
            return answer(id, {**text("MCP error -32601: only as a task"), "isError": True})
        task = "old-%d" % (len(TASKS) + 1)
        TASKS[task] = {"status": "working", "polls": 0, "cancelled": False, **arguments}
        return answer(id, {"task": {"taskId": task, "status": "working", "ttl": None,
                                    "createdAt": "2026-01-01T00:00:00Z",
                                    "lastUpdatedAt": "2026-01-01T00:00:00Z"}})
    if name == "left":
        return answer(id, text(" ".join("cancelled" if task["cancelled"] else "asked" if task["polls"]
                                        else "begun" for task in TASKS.values())))
    if name == "echo":
        return answer(id, text(arguments.get("text", "")))
    if name == "env":
        return answer(id, text(dict(os.environ)))
    if name == "pid":
        return answer(id, text(str(os.getpid())))
    if name == "count":
        with open(arguments["file"], "a") as file:
            file.write("x")
        return answer(id, text("counted"))
    if name in ("die", "safe_die"):
        # Exits only once; a file records that.
        if not os.path.exists(arguments["file"]):
            open(arguments["file"], "w").close()
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
        return answer(id + 100000, text("for another request"))
    if name == "sleep":
        time.sleep(arguments.get("seconds", 0.1))
        if id in CANCELLED:
            return None
        return answer(id, text("slept"))
    if name in ("meet", "look", "change"):
        return answer(id, text(str(meet(id, arguments.get("count", 1)))))
    if name == "here":
        return answer(id, text(str(len(RUNNING))))
    if name == "cancelled":
        return answer(id, text(sorted(CANCELLED)))
    if name == "progress":
        for step in (1, 2, 3):
            send({"method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step, "total": 4, "message": "step %d" % step}})
            time.sleep(arguments.get("pause", 0))
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
            return answer(id, text("no subscription yet"))
        EXTRA.append(tool(arguments["name"]))
        subscription = {"params": {"_meta": {"io.modelcontextprotocol/subscriptionId": LISTENING[-1]}}} if MODERN else {}
        for _ in range(5):
            send({"method": "notifications/tools/list_changed", **subscription})
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
        megabyte = "x" * (1 << 20)
        with OUT:
            sys.stdout.write('{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id)
            for _ in range(arguments.get("megabytes", 100)):
                sys.stdout.write(megabyte)
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
            server_info = {} if "nameless" in MODES else {"serverInfo": {"name": "odd", "version": "1"}}
            answer(id, {"protocolVersion": version,
                        "capabilities": {"tools": {"listChanged": True}, "logging": {}}, **server_info})
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
            handle_task(id, method, params)
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

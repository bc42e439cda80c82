"""Requests that no client of the protocol would make, to `hermes mcp serve --http`.

    wire.py URL TOKEN

Only the standard library: what is sent is what is written here. What is not as
it should be ends the program with a traceback.
"""

import http.client
import json
import pathlib
import sys
import threading
import time
import urllib.parse

URL, TOKEN = sys.argv[1:]
PLACE = urllib.parse.urlsplit(URL)
BOTH = "application/json, text/event-stream"
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "wire", "version": "0"},
}


def send(method, body=b"", **headers):
    """The status, the headers and the text of an answer."""
    given = {
        "Authorization": f"Bearer {TOKEN}",
        "Accept": BOTH,
        "Content-Type": "application/json",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    given = {name: value for name, value in given.items() if value is not None}
    connection = http.client.HTTPConnection(PLACE.hostname, PLACE.port, timeout=60)
    try:
        connection.request(method, PLACE.path, body, given)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def status(*args, **headers):
    return send(*args, **headers)[0]


def ask(method, params=None, **headers):
    message = {"jsonrpc": "2.0", "id": 1, "method": method}
    if params is not None:
        message["params"] = params
    return send("POST", json.dumps(message).encode(), **headers)


def said(text):
    """The message of an answer, which may be in a stream."""
    lines = [line[5:] for line in text.splitlines() if line.startswith("data:")]
    return json.loads(next((line for line in lines if line.strip()), text))


def begin(version=HELLO["protocolVersion"]):
    code, headers, text = ask("initialize", {**HELLO, "protocolVersion": version})
    assert code == 200, (code, text)
    assert said(text)["result"]["serverInfo"]["name"] == "hermes", text
    return {"Mcp_Session_Id": headers["Mcp-Session-Id"]}


def expect(got, wanted):
    assert got == wanted, (got, wanted)


session = begin()

# What it carries, what it takes, how large it is.
for kind in ("text/plain", "application/jsonx", "application/json; charset=utf-16", None):
    expect(status("POST", b"{}", Content_Type=kind), 415)
for kind in ("application/json", "text/event-stream", "text/html", None):
    expect(status("POST", b"{}", Accept=kind), 406)
expect(ask("initialize", HELLO, Accept="*/*", Content_Type="Application/JSON; charset=UTF-8")[0], 200)
expect(status("POST", b" " * ((64 << 20) + 1)), 413)
expect(status("POST", b"", Content_Length=str(1 << 40)), 413)

# What it says.
for body, code in ((b"nonsense", -32700), (b"", -32700), (b'{"a":"\xff"}', -32700),
                   (b"[]", -32600), (b"{}", -32600), (b'{"jsonrpc":"1.0","id":4,"method":"ping"}', -32600)):
    for given in ({}, session):
        got, headers, text = send("POST", body, **given)
        expect((got, headers["Content-Type"]), (400, "application/json"))
        error = json.loads(text)
        expect(error["error"]["code"], code)
        expect(error["id"], 4 if b"4" in body else None)
for method, params, code in (("tools/call", {"name": 5}, -32602), ("tools/call", None, -32602),
                             ("tools/fly", {}, -32601)):
    got, _, text = ask(method, params, **session)
    expect((got, said(text)["error"]["code"]), (200, code))
for method, params, field in (("prompts/get", {}, "name"), ("prompts/get", {"name": "x", "arguments": "y"}, "arguments"),
                              ("resources/read", {}, "uri"), ("resources/read", {"uri": 5}, "uri"),
                              ("tools/list", {"cursor": 5}, "cursor"), ("tools/call", {"name": "x", "arguments": []}, "arguments")):
    got, _, text = ask(method, params, **session)
    error = said(text)["error"]
    expect((got, error["code"]), (200, -32602))
    assert field in error["message"], error
expect(ask("tools/list", {})[0], 400)

# Several at once, which is part of one version and of no other.
old = begin("2025-03-26")
ping, call = ({"jsonrpc": "2.0", "id": n, "method": m, "params": {}} for n, m in ((1, "ping"), (2, "tools/fly")))
note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
got, headers, text = send("POST", json.dumps([ping, note, 7, call]).encode(), **old)
expect((got, headers["Content-Type"]), (200, "application/json"))
expect([(it["id"], it.get("error", {}).get("code")) for it in json.loads(text)], [(1, None), (None, -32600), (2, -32601)])
expect(send("POST", json.dumps([note, note]).encode(), **old)[0], 202)
slow = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "terminal", "arguments": {"command": "sleep 0.8; echo late"}}}
got, headers, text = send("POST", json.dumps([ping, slow]).encode(), **old)
expect((got, headers["Content-Type"]), (200, "text/event-stream"))
events = [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:") and line[5:].strip()]
expect(sorted(it["id"] for it in events if "result" in it), [1, 3])
expect(status("POST", json.dumps([ping]).encode(), Mcp_Session_Id="6f1f0c0e-0000-4000-8000-000000000000"), 404)
expect(status("POST", json.dumps([ping]).encode(), MCP_Protocol_Version="2025-06-18", **session), 400)
expect(status("POST", json.dumps([ping]).encode(), **session), 400)
expect(status("POST", json.dumps([ping]).encode()), 400)
got, _, text = ask("initialize", {**HELLO, "protocolVersion": 5})
expect((got, json.loads(text)["error"]["code"]), (400, -32602))
assert "protocolVersion" in text, text

# An id that belongs to a request which is not answered yet.
gate, first = pathlib.Path("gate"), []
wait = {"command": "touch begun; while ! test -e gate; do sleep 0.05; done; echo through"}
asking = threading.Thread(target=lambda: first.append(ask("tools/call", {"name": "terminal", "arguments": wait}, **session)))
asking.start()
while not pathlib.Path("begun").exists():
    time.sleep(0.01)
got, _, text = ask("tools/call", {"name": "todo", "arguments": {}}, **session)
expect(said(text)["error"]["code"], -32600)
gate.touch()
asking.join()
assert "through" in first[0][2], first
expect(said(ask("ping", **session)[2])["result"], {})

# Pages in a browser: those of this machine and those that were named, no others.
WANTS = {"Access_Control_Request_Method": "POST",
         "Access_Control_Request_Headers": "authorization,content-type,mcp-param-path"}
for page in ("http://localhost:3000", "https://page.test"):
    got, headers, text = send("OPTIONS", Authorization=None, Origin=page, **WANTS)
    expect((got, text, headers["Access-Control-Allow-Origin"], headers["Vary"]), (204, "", page, "Origin"))
    allowed = headers["Access-Control-Allow-Headers"].lower().split(", ")
    for name in ("authorization", "content-type", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name",
                 "last-event-id", "mcp-param-path"):
        assert name in allowed, (name, allowed)
    for name in ("GET", "POST", "DELETE"):
        assert name in headers["Access-Control-Allow-Methods"], headers
    got, headers, _ = ask("initialize", HELLO, Origin=page)
    expect((got, headers["Access-Control-Allow-Origin"], headers["Vary"]), (200, page, "Origin"))
    assert "Mcp-Session-Id" in headers["Access-Control-Expose-Headers"], headers
    # What is wrong can be read, too; and without a token nothing else is answered.
    got, headers, _ = ask("initialize", HELLO, Origin=page, Authorization=None)
    expect((got, headers["Access-Control-Allow-Origin"]), (401, page))
for page in ("https://other.test", "https://page.test.evil.test", "http://page.test", "null"):
    for got, headers, _ in (send("OPTIONS", Authorization=None, Origin=page, **WANTS), ask("initialize", HELLO, Origin=page),
                            ask("initialize", HELLO, Origin=page, Authorization=None)):
        assert got in (401, 403), got
        assert not [name for name in headers if name.lower().startswith("access-control")], headers
got, headers, _ = send("OPTIONS", Authorization=None, Origin="http://localhost:3000", Host="evil.test", **WANTS)
expect((got, headers["Access-Control-Allow-Origin"]), (403, None))
expect(send("OPTIONS", Authorization=None)[0], 401)
expect(ask("initialize", HELLO)[1]["Access-Control-Allow-Origin"], None)

# Sessions that there are not.
unknown = {"Mcp_Session_Id": "6f1f0c0e-0000-4000-8000-000000000000"}
expect(ask("ping", **unknown)[0], 404)
expect(status("GET", **unknown), 404)
expect(status("DELETE", **unknown), 404)
expect(status("GET"), 400)
expect(status("DELETE"), 400)
expect(status("GET", Accept="application/json", **session), 406)

# The newer protocol has no sessions.
for method in ("GET", "DELETE"):
    got, headers, _ = send(method, MCP_Protocol_Version="2026-07-28", **session)
    expect((got, headers["Allow"]), (405, "POST"))
for method in ("PUT", "PATCH", "OPTIONS", "HEAD"):
    got, headers, _ = send(method)
    expect((got, headers["Allow"]), (405, "GET, POST, DELETE"))

# The end of one, and of no other.
other = begin()
expect(status("DELETE", **session), 200)
expect(ask("ping", **session)[0], 404)
expect(status("GET", **session), 404)
expect(status("DELETE", **session), 404)
expect(said(ask("ping", **other)[2])["result"], {})
print("all well")

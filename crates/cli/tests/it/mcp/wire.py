"""Sends `hermes mcp serve --http` requests that a correct client would not send.

    wire.py URL TOKEN

Uses only the standard library, so the requests are exactly those below. A failed check
ends the program with a traceback.
"""

import http.client
import json
import pathlib
import sys
import threading
import time
import urllib.parse

URL, TOKEN = sys.argv[1:]
ADDRESS = urllib.parse.urlsplit(URL)
ACCEPT = "application/json, text/event-stream"
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "wire", "version": "0"},
}


def send(method, body=b"", **headers):
    """Returns the status, headers and text of the response."""
    all_headers = {
        "Authorization": f"Bearer {TOKEN}",
        "Accept": ACCEPT,
        "Content-Type": "application/json",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    all_headers = {name: value for name, value in all_headers.items() if value is not None}
    connection = http.client.HTTPConnection(ADDRESS.hostname, ADDRESS.port, timeout=60)
    try:
        connection.request(method, ADDRESS.path, body, all_headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read().decode()
    finally:
        connection.close()


def status(*args, **headers):
    return send(*args, **headers)[0]


def request(method, params=None, **headers):
    message = {"jsonrpc": "2.0", "id": 1, "method": method}
    if params is not None:
        message["params"] = params
    return send("POST", json.dumps(message).encode(), **headers)


def message_of(text):
    """Returns the message of a response, which may be an event stream."""
    lines = [line[5:] for line in text.splitlines() if line.startswith("data:")]
    return json.loads(next((line for line in lines if line.strip()), text))


def open_session(version=INITIALIZE["protocolVersion"]):
    code, headers, text = request("initialize", {**INITIALIZE, "protocolVersion": version})
    assert code == 200, (code, text)
    assert message_of(text)["result"]["serverInfo"]["name"] == "hermes", text
    return {"Mcp_Session_Id": headers["Mcp-Session-Id"]}


def expect(actual, expected):
    assert actual == expected, (actual, expected)


session = open_session()

# Content type, accepted types and size of the body.
for kind in ("text/plain", "application/jsonx", "application/json; charset=utf-16", None):
    expect(status("POST", b"{}", Content_Type=kind), 415)
for kind in ("application/json", "text/event-stream", "text/html", None):
    expect(status("POST", b"{}", Accept=kind), 406)
expect(request("initialize", INITIALIZE, Accept="*/*", Content_Type="Application/JSON; charset=UTF-8")[0], 200)
expect(status("POST", b" " * ((64 << 20) + 1)), 413)
expect(status("POST", b"", Content_Length=str(1 << 40)), 413)

# Contents of the body.
for body, code in ((b"nonsense", -32700), (b"", -32700), (b'{"a":"\xff"}', -32700),
                   (b"[]", -32600), (b"{}", -32600), (b'{"jsonrpc":"1.0","id":4,"method":"ping"}', -32600)):
    for session_headers in ({}, session):
        status_code, headers, text = send("POST", body, **session_headers)
        expect((status_code, headers["Content-Type"]), (400, "application/json"))
        error = json.loads(text)
        expect(error["error"]["code"], code)
        expect(error["id"], 4 if b"4" in body else None)
for method, params, code in (("tools/call", {"name": 5}, -32602), ("tools/call", None, -32602),
                             ("tools/fly", {}, -32601)):
    status_code, _, text = request(method, params, **session)
    expect((status_code, message_of(text)["error"]["code"]), (200, code))
for method, params, field in (("prompts/get", {}, "name"), ("prompts/get", {"name": "x", "arguments": "y"}, "arguments"),
                              ("resources/read", {}, "uri"), ("resources/read", {"uri": 5}, "uri"),
                              ("tools/list", {"cursor": 5}, "cursor"), ("tools/call", {"name": "x", "arguments": []}, "arguments")):
    status_code, _, text = request(method, params, **session)
    error = message_of(text)["error"]
    expect((status_code, error["code"]), (200, -32602))
    assert field in error["message"], error
expect(request("tools/list", {})[0], 400)

# Batches, which only version 2025-03-26 allows.
old = open_session("2025-03-26")
ping, call = ({"jsonrpc": "2.0", "id": n, "method": m, "params": {}} for n, m in ((1, "ping"), (2, "tools/fly")))
note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
status_code, headers, text = send("POST", json.dumps([ping, note, 7, call]).encode(), **old)
expect((status_code, headers["Content-Type"]), (200, "application/json"))
expect([(item["id"], item.get("error", {}).get("code")) for item in json.loads(text)], [(1, None), (None, -32600), (2, -32601)])
expect(send("POST", json.dumps([note, note]).encode(), **old)[0], 202)
slow = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "terminal", "arguments": {"command": "sleep 0.8; echo late"}}}
status_code, headers, text = send("POST", json.dumps([ping, slow]).encode(), **old)
expect((status_code, headers["Content-Type"]), (200, "text/event-stream"))
events = [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:") and line[5:].strip()]
expect(sorted(event["id"] for event in events if "result" in event), [1, 3])
expect(status("POST", json.dumps([ping]).encode(), Mcp_Session_Id="6f1f0c0e-0000-4000-8000-000000000000"), 404)
expect(status("POST", json.dumps([ping]).encode(), MCP_Protocol_Version="2025-06-18", **session), 400)
expect(status("POST", json.dumps([ping]).encode(), **session), 400)
expect(status("POST", json.dumps([ping]).encode()), 400)
status_code, _, text = request("initialize", {**INITIALIZE, "protocolVersion": 5})
expect((status_code, json.loads(text)["error"]["code"]), (400, -32602))
assert "protocolVersion" in text, text

# The id of a request that is still pending.
gate, responses = pathlib.Path("gate"), []
wait = {"command": "touch begun; while ! test -e gate; do sleep 0.05; done; echo through"}
pending = threading.Thread(target=lambda: responses.append(request("tools/call", {"name": "terminal", "arguments": wait}, **session)))
pending.start()
while not pathlib.Path("begun").exists():
    time.sleep(0.01)
status_code, _, text = request("tools/call", {"name": "todo", "arguments": {}}, **session)
expect(message_of(text)["error"]["code"], -32600)
gate.touch()
pending.join()
assert "through" in responses[0][2], responses
expect(message_of(request("ping", **session)[2])["result"], {})

# Browser origins: only loopback and configured ones are allowed.
PREFLIGHT = {"Access_Control_Request_Method": "POST",
         "Access_Control_Request_Headers": "authorization,content-type,mcp-param-path"}
for origin in ("http://localhost:3000", "https://page.test"):
    status_code, headers, text = send("OPTIONS", Authorization=None, Origin=origin, **PREFLIGHT)
    expect((status_code, text, headers["Access-Control-Allow-Origin"], headers["Vary"]), (204, "", origin, "Origin"))
    allowed = headers["Access-Control-Allow-Headers"].lower().split(", ")
    for name in ("authorization", "content-type", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name",
                 "last-event-id", "mcp-param-path"):
        assert name in allowed, (name, allowed)
    for name in ("GET", "POST", "DELETE"):
        assert name in headers["Access-Control-Allow-Methods"], headers
    status_code, headers, _ = request("initialize", INITIALIZE, Origin=origin)
    expect((status_code, headers["Access-Control-Allow-Origin"], headers["Vary"]), (200, origin, "Origin"))
    assert "Mcp-Session-Id" in headers["Access-Control-Expose-Headers"], headers
    # An error has CORS headers too; without a token, every other request fails.
    status_code, headers, _ = request("initialize", INITIALIZE, Origin=origin, Authorization=None)
    expect((status_code, headers["Access-Control-Allow-Origin"]), (401, origin))
for origin in ("https://other.test", "https://page.test.evil.test", "http://page.test", "null"):
    for status_code, headers, _ in (send("OPTIONS", Authorization=None, Origin=origin, **PREFLIGHT), request("initialize", INITIALIZE, Origin=origin),
                            request("initialize", INITIALIZE, Origin=origin, Authorization=None)):
        assert status_code in (401, 403), status_code
        assert not [name for name in headers if name.lower().startswith("access-control")], headers
status_code, headers, _ = send("OPTIONS", Authorization=None, Origin="http://localhost:3000", Host="evil.test", **PREFLIGHT)
expect((status_code, headers["Access-Control-Allow-Origin"]), (403, None))
expect(send("OPTIONS", Authorization=None)[0], 401)
expect(request("initialize", INITIALIZE)[1]["Access-Control-Allow-Origin"], None)

# Unknown sessions.
unknown = {"Mcp_Session_Id": "6f1f0c0e-0000-4000-8000-000000000000"}
expect(request("ping", **unknown)[0], 404)
expect(status("GET", **unknown), 404)
expect(status("DELETE", **unknown), 404)
expect(status("GET"), 400)
expect(status("DELETE"), 400)
expect(status("GET", Accept="application/json", **session), 406)

# The newer protocol has no sessions.
for method in ("GET", "DELETE"):
    status_code, headers, _ = send(method, MCP_Protocol_Version="2026-07-28", **session)
    expect((status_code, headers["Allow"]), (405, "POST"))
for method in ("PUT", "PATCH", "OPTIONS", "HEAD"):
    status_code, headers, _ = send(method)
    expect((status_code, headers["Allow"]), (405, "GET, POST, DELETE"))

# Ending one session does not end another.
other = open_session()
expect(status("DELETE", **session), 200)
expect(request("ping", **session)[0], 404)
expect(status("GET", **session), 404)
expect(status("DELETE", **session), 404)
expect(message_of(request("ping", **other)[2])["result"], {})
print("all well")

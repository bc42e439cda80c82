"""An MCP server over HTTP that wants a login, and the place to log in.

    guarded.py PORT_FILE [open]

With `open` it wants none. It answers in plain JSON. `/state` tells what has
happened so far, `/revoke` makes tokens void, `/expire` ends sessions, `/osv`
knows a harmful package.
"""
import base64
import hashlib
import json
import os
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OPEN = "open" in sys.argv[2:]
STATE = {"registered": 0, "refreshed": 0, "granted": 0, "initialized": 0, "asked": 0}
CLIENTS, CODES, TOKENS, REFRESH, SESSIONS = {}, {}, set(), set(), set()


def tool(name):
    return {"name": name, "description": name, "inputSchema": {"type": "object"}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def base(self):
        return "http://127.0.0.1:%d" % self.server.server_address[1]

    def reply(self, status, value=None, headers=(), body=None):
        body = json.dumps(value).encode() if body is None and value is not None else body or b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, text in headers:
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self):
        self.reply(200, {})

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path.startswith("/.well-known/oauth-protected-resource"):
            self.reply(200, {"resource": self.base() + "/mcp", "authorization_servers": [self.base()]})
        elif url.path == "/.well-known/oauth-authorization-server":
            self.reply(200, {
                "issuer": self.base(), "authorization_endpoint": self.base() + "/authorize",
                "token_endpoint": self.base() + "/token", "registration_endpoint": self.base() + "/register",
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "authorization_response_iss_parameter_supported": True,
                "token_endpoint_auth_methods_supported": ["none"]})
        elif url.path == "/authorize":
            known = CLIENTS.get(query.get("client_id"))
            if known is None or query["redirect_uri"] not in known or query.get("code_challenge_method") != "S256":
                return self.reply(400, {"error": "invalid_request"})
            code = base64.urlsafe_b64encode(os.urandom(9)).decode()
            CODES[code] = query
            back = {"code": code, "state": query["state"], "iss": self.base()}
            self.reply(302, headers=[("Location", query["redirect_uri"] + "?" + urllib.parse.urlencode(back))])
        elif url.path == "/state":
            self.reply(200, STATE)
        elif url.path == "/revoke":
            TOKENS.clear()
            if query.get("all"):
                REFRESH.clear()
            self.reply(200, {})
        elif url.path == "/expire":
            SESSIONS.clear()
            self.reply(200, {})
        else:
            self.reply(405 if url.path == "/mcp" else 404, {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = urllib.parse.urlsplit(self.path).path
        if path == "/register":
            STATE["registered"] += 1
            asked = json.loads(body)
            id = "client%d" % STATE["registered"]
            CLIENTS[id] = asked["redirect_uris"]
            self.reply(201, {**asked, "client_id": id, "token_endpoint_auth_method": "none"})
        elif path == "/token":
            self.token(dict(urllib.parse.parse_qsl(body.decode())))
        elif path == "/osv":
            STATE["asked"] += 1
            harmful = json.loads(body)["package"]["name"] == "@evil/pkg"
            self.reply(200, {"vulns": [{"id": "GHSA-1"}, {"id": "MAL-2026-1", "summary": "steals keys"}]} if harmful else {})
        elif path == "/mcp":
            self.mcp(json.loads(body))
        else:
            self.reply(404, {})

    def token(self, asked):
        if asked.get("resource") != self.base() + "/mcp":
            return self.reply(400, {"error": "invalid_target"})
        if asked["grant_type"] == "authorization_code":
            code = CODES.pop(asked["code"], None)
            proof = base64.urlsafe_b64encode(hashlib.sha256(asked["code_verifier"].encode()).digest())
            if code is None or proof.rstrip(b"=").decode() != code["code_challenge"]:
                return self.reply(400, {"error": "invalid_grant"})
            STATE["granted"] += 1
        else:
            if asked["refresh_token"] not in REFRESH:
                return self.reply(400, {"error": "invalid_grant"})
            REFRESH.discard(asked["refresh_token"])
            STATE["refreshed"] += 1
        number = STATE["granted"] + STATE["refreshed"]
        TOKENS.add("token%d" % number)
        REFRESH.add("refresh%d" % number)
        self.reply(200, {"access_token": "token%d" % number, "token_type": "Bearer", "expires_in": 3600,
                         "refresh_token": "refresh%d" % number})

    def mcp(self, message):
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not OPEN and token not in TOKENS:
            where = self.base() + "/.well-known/oauth-protected-resource/mcp"
            return self.reply(401, {}, [("WWW-Authenticate", 'Bearer resource_metadata="%s"' % where)])
        method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "initialize":
            STATE["initialized"] += 1
            session = "session%d" % STATE["initialized"]
            SESSIONS.add(session)
            return self.reply(200, {"jsonrpc": "2.0", "id": id, "result": {
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"}}}, [("Mcp-Session-Id", session)])
        if method == "server/discover":
            return self.reply(400, {"jsonrpc": "2.0", "id": "server-error",
                                    "error": {"code": -32600, "message": "Bad Request: no session"}})
        if self.headers.get("Mcp-Session-Id") not in SESSIONS:
            return self.reply(404, {})
        if id is None:
            return self.reply(202)
        if method == "tools/list":
            result = {"tools": [tool("who"), tool("big")]}
        elif method == "tools/call" and params["name"] == "big":
            head = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id
            return self.reply(200, body=head + b"x" * (40 << 20) + b'"}]}}')
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": token or "anybody"}]}
        else:
            result = {}
        self.reply(200, {"jsonrpc": "2.0", "id": id, "result": result})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".tmp", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(sys.argv[1] + ".tmp", sys.argv[1])
server.serve_forever()

"""An MCP server over HTTP that requires a login, and its authorization server.

    guarded.py PORT_FILE [open] [odd-metadata] [no-pkce] [as=NAME] [tls CERT KEY CA]

With `open`, no login is required. With `odd-metadata`, only 401 and 403 responses
say where the metadata is. With `no-pkce`, the metadata does not list PKCE. With
`as=NAME`, tokens begin with NAME, clients have secrets, and the client `robot` is
registered from the start. With `tls`, the server uses CERT and requires a client
certificate signed by CA. The tool `write` requires its own scope, the tool `never` a
scope that is never granted. Responses are plain JSON. `/state` returns counters,
`/move` redirects logins, `/revoke` revokes tokens, `/expire` ends sessions, `/osv`
reports one malicious package.
"""
import base64
import hashlib
import json
import os
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OPEN, ODD_METADATA, TLS = ("open" in sys.argv[2:], "odd-metadata" in sys.argv[2:], "tls" in sys.argv[2:])
NAME = ([arg[3:] for arg in sys.argv[2:] if arg.startswith("as=")] or [""])[0]
METADATA = "/somewhere/else.json" if ODD_METADATA else "/.well-known/oauth-protected-resource/mcp"
STATE = {"registered": 0, "refreshed": 0, "granted": 0, "initialized": 0, "asked": 0, "scopes": [], "clients": []}
MOVED = {}
CLIENTS, CODES, TOKENS, REFRESH, SESSIONS = {"robot": []} if NAME else {}, {}, {}, {}, set()


def tool(name):
    return {"name": name, "description": name, "inputSchema": {"type": "object"}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def base(self):
        return "http%s://127.0.0.1:%d" % ("s" if TLS else "", self.server.server_address[1])

    def is_good(self, token):
        # Tokens of the server that logins have moved to begin with its name.
        return token.startswith(MOVED["name"]) if MOVED else token in TOKENS

    def scopes(self, token):
        return TOKENS.get(token, "").split()

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
        if url.path.startswith(METADATA.removesuffix("/mcp")):
            issuer = MOVED.get("to", self.base())
            self.reply(200, {"resource": self.base() + "/mcp", "authorization_servers": [issuer]})
        elif url.path == "/.well-known/oauth-authorization-server":
            self.reply(200, {
                "issuer": self.base(), "authorization_endpoint": self.base() + "/authorize",
                "token_endpoint": self.base() + "/token", "registration_endpoint": self.base() + "/register",
                "response_types_supported": ["code"],
                **({} if "no-pkce" in sys.argv[2:] else {"code_challenge_methods_supported": ["S256"]}),
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "authorization_response_iss_parameter_supported": True,
                "token_endpoint_auth_methods_supported": ["client_secret_basic" if NAME else "none"]})
        elif url.path == "/authorize":
            redirect_uris = CLIENTS.get(query.get("client_id"))
            if redirect_uris is None or query["redirect_uri"] not in redirect_uris or query.get("code_challenge_method") != "S256":
                return self.reply(400, {"error": "invalid_request"})
            STATE["scopes"].append(query.get("scope", ""))
            STATE["clients"].append(query["client_id"])
            code = base64.urlsafe_b64encode(os.urandom(9)).decode()
            CODES[code] = query
            params = {"code": code, "state": query["state"], "iss": self.base()}
            self.reply(302, headers=[("Location", query["redirect_uri"] + "?" + urllib.parse.urlencode(params))])
        elif url.path == "/move":
            MOVED.update(query)
            self.reply(200, {})
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
            registration = json.loads(body)
            id = "%sclient%d" % (NAME, STATE["registered"])
            CLIENTS[id] = registration["redirect_uris"]
            secret = {"client_secret": "secret of " + id} if NAME else {}
            self.reply(201, {**registration, **secret, "client_id": id})
        elif path == "/token":
            self.token(dict(urllib.parse.parse_qsl(body.decode())))
        elif path == "/osv":
            STATE["asked"] += 1
            malicious = json.loads(body)["package"]["name"] == "@evil/pkg"
            self.reply(200, {"vulns": [{"id": "GHSA-1"}, {"id": "MAL-2026-1", "summary": "steals keys"}]} if malicious else {})
        elif path == "/mcp":
            self.mcp(json.loads(body))
        else:
            self.reply(404, {})

    def token(self, form):
        if not NAME and form.get("resource") != self.base() + "/mcp":
            return self.reply(400, {"error": "invalid_target"})
        id = form.get("client_id")
        if NAME:
            basic = base64.b64decode(self.headers.get("Authorization", "Basic ")[6:]).decode()
            id, _, secret = urllib.parse.unquote_plus(basic).partition(":")
            if secret != "secret of " + id:
                return self.reply(401, {"error": "invalid_client"})
        if id not in CLIENTS:
            return self.reply(401, {"error": "invalid_client"})
        if form["grant_type"] == "authorization_code":
            code = CODES.pop(form["code"], None)
            proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
            if code is None or proof.rstrip(b"=").decode() != code["code_challenge"]:
                return self.reply(400, {"error": "invalid_grant"})
            STATE["granted"] += 1
            scope = code.get("scope", "")
        elif form["grant_type"] == "client_credentials":
            STATE["granted"] += 1
            scope = form.get("scope", "")
        else:
            scope = REFRESH.pop(form["refresh_token"], None)
            if scope is None:
                return self.reply(400, {"error": "invalid_grant"})
            STATE["refreshed"] += 1
        token = "%stoken%d" % (NAME, STATE["granted"] + STATE["refreshed"])
        TOKENS[token] = scope
        REFRESH["refresh of " + token] = scope
        self.reply(200, {"access_token": token, "token_type": "Bearer", "expires_in": 3600,
                         "refresh_token": "refresh of " + token})

    def mcp(self, message):
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        challenge = 'Bearer resource_metadata="%s", scope=' % (self.base() + METADATA)
        if not OPEN and not self.is_good(token):
            return self.reply(401, {}, [("WWW-Authenticate", "Negotiate"), ("WWW-Authenticate", challenge + '"read"')])
        method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
        scope = {"write": "write", "never": "never"}.get(params.get("name"))
        if not OPEN and scope and (scope == "never" or scope not in self.scopes(token)):
            challenge += '"%s", error="insufficient_scope"' % scope
            return self.reply(403, {}, [("WWW-Authenticate", challenge)])
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
            result = {"tools": [tool("who"), tool("big"), tool("write"), tool("never")]}
        elif method == "tools/call" and params["name"] == "big":
            head = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id
            return self.reply(200, body=head + b"x" * (40 << 20) + b'"}]}}')
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": token or "anybody"}]}
        else:
            result = {}
        self.reply(200, {"jsonrpc": "2.0", "id": id, "result": result})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if TLS:
    import ssl
    cert, key, ca = sys.argv[sys.argv.index("tls") + 1:][:3]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.load_verify_locations(ca)
    context.verify_mode = ssl.CERT_REQUIRED
    # The connection's thread does the handshake.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
with open(sys.argv[1] + ".tmp", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(sys.argv[1] + ".tmp", sys.argv[1])
server.serve_forever()

"""A server with the official Python SDK that requires a login, and the SDK's own
authorization server.

    sdk_auth.py PORT_FILE [LIFETIME] [sse]

Tokens last for LIFETIME seconds. With `sse` it uses the older SSE transport. `/state`
returns counters. `/revoke-all` revokes access tokens, with `all=1` all tokens, with
`forget=1` the clients too. The client `known` with the secret `pass word` is registered
from the start.
"""
import os
import secrets
import socket
import sys
import time

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.responses import JSONResponse

LIFETIME = int(sys.argv[2]) if len(sys.argv) > 2 else 3600
PATH = "/sse" if "sse" in sys.argv else "/mcp"
STATE = {"registered": 0, "granted": 0, "refreshed": 0}


class AnyRedirectClient(OAuthClientInformationFull):
    """A client that may use any redirect URI."""

    def validate_redirect_uri(self, redirect_uri):
        return redirect_uri


class AuthProvider(OAuthAuthorizationServerProvider):
    def __init__(self):
        self.clients, self.codes, self.tokens, self.refresh = {}, {}, {}, {}
        self.clients["known"] = AnyRedirectClient(
            client_id="known", client_secret="pass word", redirect_uris=["http://127.0.0.1/callback"],
            token_endpoint_auth_method="client_secret_post", scope="user")

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        STATE["registered"] += 1
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = secrets.token_hex(16)
        self.codes[code] = AuthorizationCode(
            code=code, scopes=params.scopes or [], expires_at=time.time() + 60, client_id=client.client_id,
            code_challenge=params.code_challenge, redirect_uri=params.redirect_uri, resource=params.resource,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly)
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        STATE["granted"] += 1
        return self.issue(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        del self.refresh[refresh_token.token]
        STATE["refreshed"] += 1
        return self.issue(client, scopes or refresh_token.scopes, refresh_token.resource, 3600)

    def issue(self, client, scopes, resource, lifetime=LIFETIME):
        # The SDK accepts a token until its last second is over, so a lifetime of 0 expires a second ago.
        number = STATE["granted"] + STATE["refreshed"]
        token, refresh = "token%d" % number, secrets.token_hex(16)
        self.tokens[token] = AccessToken(
            token=token, client_id=client.client_id, scopes=scopes, expires_at=int(time.time()) + (lifetime or -1),
            resource=resource)
        self.refresh[refresh] = RefreshToken(
            token=refresh, client_id=client.client_id, scopes=scopes, resource=resource)
        return OAuthToken(access_token=token, token_type="Bearer", expires_in=lifetime, refresh_token=refresh,
                          scope=" ".join(scopes))

    async def load_access_token(self, token):
        return self.tokens.get(token)

    async def revoke_token(self, token):
        self.tokens.pop(token.token, None)
        self.refresh.pop(token.token, None)


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(64)
BASE = "http://127.0.0.1:%d" % listener.getsockname()[1]
provider = AuthProvider()
server = MCPServer("sdk-auth", auth_server_provider=provider, auth=AuthSettings(
    issuer_url=BASE, resource_server_url=BASE + PATH, required_scopes=["user"], validate_token_resource=True,
    client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["user"]),
    revocation_options=RevocationOptions(enabled=True)))


@server.tool()
def who() -> str:
    """Return the access token of the request."""
    return get_access_token().token


@server.custom_route("/state", methods=["GET"])
async def state(request):
    return JSONResponse({**STATE, "clients": [token.client_id for token in provider.tokens.values()]})


@server.custom_route("/revoke-all", methods=["GET"])
async def revoke(request):
    provider.tokens.clear()
    if request.query_params.get("all"):
        provider.refresh.clear()
    if request.query_params.get("forget"):
        provider.clients.clear()
    return JSONResponse({})


with open(sys.argv[1] + ".tmp", "w") as file:
    file.write(BASE)
os.rename(sys.argv[1] + ".tmp", sys.argv[1])
app = server.sse_app() if PATH == "/sse" else server.streamable_http_app()
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])

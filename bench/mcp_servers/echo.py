"""An echo server with the official Python SDK: over stdio, or over HTTP on a port."""

import sys

from mcp.server import MCPServer

server = MCPServer("echo")


@server.tool()
def echo(message: str) -> str:
    return message


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")

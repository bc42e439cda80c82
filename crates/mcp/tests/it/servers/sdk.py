"""A server with the official Python SDK: stdio, or HTTP at a port.

    sdk.py [http PORT_FILE | sse PORT_FILE]
"""
import asyncio
import base64
import os
import socket
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("sdk", instructions="A server for tests.")


def described():
    """What `add` says of itself: what is in a file, if there is one."""
    if "SDK_ADD" not in os.environ:
        return "Add two numbers."
    with open(os.environ["SDK_ADD"]) as file:
        return file.read()


@server.tool(description=described())
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def greet(name: str) -> dict[str, str]:
    """Greet somebody."""
    return {"greeting": "Hello, " + name}


@server.tool()
async def work(steps: int, ctx: Context) -> str:
    """Work, step by step."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, "step")
    return "worked"


HERE = {"now": 0, "most": 0}


@server.tool()
async def meet(count: int) -> int:
    """Wait until so many calls are here at once; how many were, at most."""
    HERE["now"] += 1
    HERE["most"] = max(HERE["most"], HERE["now"])
    for _ in range(1000):
        if HERE["most"] >= count:
            break
        await asyncio.sleep(0.01)
    HERE["now"] -= 1
    return HERE["most"]


@server.tool()
def fail() -> str:
    """Fail."""
    raise ToolError("it went wrong")


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=base64.b64decode("iVBORw0KGgo="), format="png")


@server.resource("note://today")
def today() -> str:
    """The note of the day."""
    return "buy milk"


@server.resource("note://{day}/text")
def note(day: str) -> str:
    """The note of a day."""
    return "note of " + day


@server.prompt()
def review(code: str) -> str:
    """Review code."""
    return "Please review: " + code


def main():
    if len(sys.argv) < 2:
        server.run(transport="stdio")
        return
    import uvicorn
    app = server.sse_app() if sys.argv[1] == "sse" else server.streamable_http_app()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    with open(sys.argv[2] + ".tmp", "w") as file:
        file.write(str(listener.getsockname()[1]))
    os.rename(sys.argv[2] + ".tmp", sys.argv[2])
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


main()

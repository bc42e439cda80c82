"""A server with the official Python SDK: over stdio, HTTP or SSE.

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


def add_description():
    """Returns the description of `add`, from the file SDK_ADD if it is set."""
    if "SDK_ADD" not in os.environ:
        return "Add two numbers."
    with open(os.environ["SDK_ADD"]) as file:
        return file.read()


@server.tool(description=add_description())
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


RUNNING = {"now": 0, "max": 0}


@server.tool()
async def meet(count: int) -> int:
    """Wait until `count` calls run concurrently; return the maximum."""
    RUNNING["now"] += 1
    RUNNING["max"] = max(RUNNING["max"], RUNNING["now"])
    for _ in range(1000):
        if RUNNING["max"] >= count:
            break
        await asyncio.sleep(0.01)
    RUNNING["now"] -= 1
    return RUNNING["max"]


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

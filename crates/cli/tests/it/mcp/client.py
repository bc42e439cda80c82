"""Tests `hermes mcp serve` with the client of the official Python SDK.

    client.py stdio HERMES [ARGUMENTS...]
    client.py http URL TOKEN

The server asks for approval before it changes the task list. Its working directory
contains notes.txt, its home the skill "greet". Everything is tested with both versions
of the protocol. A failed check ends the program with a traceback.
"""

import asyncio
import contextlib
import glob
import json
import os
import sys
import time
import urllib.error
import urllib.request

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

TODO = {"todos": [{"id": "a", "content": "x", "status": "pending"}]}


def text(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


class User:
    """The user who is asked; responds with a prepared answer."""

    def __init__(self):
        self.questions = []
        self.answer = ElicitResult(action="decline")

    async def __call__(self, context, params):
        self.questions.append(params)
        return self.answer

    def accept(self, **content):
        self.answer = ElicitResult(action="accept", content=content)


async def test_tool_list(client):
    listed = await client.list_tools()
    tools = {tool.name: tool for tool in listed.tools}
    assert list(tools) == sorted(tools), list(tools)
    assert {"read_file", "terminal", "todo", "clarify"} <= set(tools), list(tools)
    assert "tool_search" not in tools
    for tool in tools.values():
        assert tool.description and tool.input_schema["type"] == "object", tool
    assert tools["read_file"].annotations.read_only_hint is True
    assert tools["write_file"].annotations.read_only_hint is False
    again = await client.list_tools(cache_mode="refresh")
    assert [t.model_dump() for t in again.tools] == [t.model_dump() for t in listed.tools]


async def test_calls(client):
    read = await client.call_tool("read_file", {"path": "notes.txt"})
    assert not read.is_error and "first line" in text(read), read
    missing = await client.call_tool("read_file", {"path": "nowhere.txt"})
    assert missing.is_error and '"not_found"' in text(missing), missing
    wrong = await client.call_tool("read_file", {"path": 7, "offset": "far"})
    assert wrong.is_error and '"invalid_arguments"' in text(wrong), wrong
    try:
        await client.call_tool("read_fil_e_s_please", {})
        raise AssertionError("an unknown tool was called")
    except MCPError as error:
        assert error.code == -32602, error
    # Concurrent calls get their own results.
    results = await asyncio.gather(
        *(client.call_tool("terminal", {"command": f"echo number {n}"}) for n in range(8))
    )
    for n, result in enumerate(results):
        assert f"number {n}" in text(result), result


async def test_output_schemas(client, directory):
    """Results match their schemas; the SDK checks each."""
    tools = (await client.list_tools()).tools
    with_schema = {tool.name for tool in tools if tool.output_schema}
    called = set()

    async def call(name, **arguments):
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result
        assert result.structured_content == json.loads(text(result)), result
        called.add(name)
        return result.structured_content

    script = f"{directory}/made.py"
    await call("write_file", path=script, content="one = 1\ntwo = (\n")
    await call("write_file", path=script, content="one = 1\ntwo = 2\n")
    await call("patch", path=script, old_string="one = 1", new_string="one = 11")
    whole = await call("read_file", path=script)
    assert whole["total_lines"] == 2 and "one = 11" in whole["content"], whole
    await call("read_file", path=script)
    await call("read_file", path=script, limit=1, fresh=True)
    await call("read_file", path=script, byte_offset=0, byte_limit=4)
    with open(f"{directory}/dot.bin", "wb") as file:
        file.write(bytes(range(256)))
    await call("read_file", path=f"{directory}/dot.bin")
    for options in ({}, {"context": 1}, {"output_mode": "files_only"}, {"output_mode": "count"},
                 {"target": "files", "pattern": "*.py"}, {"target": "fuzzy", "pattern": "mad"}):
        await call("search_files", **{"pattern": "one", "path": directory, **options})
    await call("directory_list", path=directory, depth=2, sort="size", folder_sizes=True)
    await call("terminal", command="echo out; echo err >&2; exit 3", separate=True)
    long = await call("terminal", command="seq 1 60000")
    assert long["exit_code"] == 0, list(long)
    job = await call("terminal", command="cat", background=True, open_stdin=True)
    await call("process", action="list")
    await call("process", action="poll", session_id=job["session_id"])
    await call("process", action="kill", session_id=job["session_id"])
    await call("sleep", seconds=0.01)
    listed = await client.call_tool("todo", {})
    assert listed.structured_content["summary"]["total"] == 0, listed
    assert with_schema == called | {"todo"}, with_schema ^ called


async def test_skills(client):
    """Skills are prompts, and their files are resources."""
    prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
    greet = prompts["greet"]
    assert greet.description == "Greets people.", greet
    assert [(a.name, a.required) for a in greet.arguments] == [("task", False)], greet
    # Invalid and forbidden skills are not listed.
    assert not {"torn", "lure", "closed"} & set(prompts), list(prompts)
    prompt = await client.get_prompt("greet", {"task": "Greet the world."})
    (message,) = prompt.messages
    body = message.content.text
    assert message.role == "user" and body.startswith("Greet the world.\n"), body
    assert "Say good day." in body and "skill://greet/references/two%20words.md" in body, body
    assert "Use the skill" in (await client.get_prompt("greet")).messages[0].content.text
    resources = {str(resource.uri): resource for resource in (await client.list_resources()).resources}
    uri = "skill://greet/references/two%20words.md"
    assert resources[uri].mime_type == "text/markdown", resources
    assert "skill://greet/SKILL.md" in resources and "skill://greet/.env" not in resources, resources
    (content,) = (await client.read_resource(uri)).contents
    assert content.text == "good day\n" and content.mime_type == "text/markdown", content
    (content,) = (await client.read_resource("skill://greet/assets/dot.png")).contents
    assert content.blob == "AAEC" and content.mime_type == "image/png", content
    (template,) = (await client.list_resource_templates()).resource_templates
    assert template.uri_template == "skill://{skill}/{+path}", template
    for request in (
        client.get_prompt("nobody"),
        client.get_prompt("lure"),
        client.get_prompt("closed"),
        client.read_resource("skill://greet/none.md"),
        client.read_resource("skill://greet/../torn/SKILL.md"),
        client.read_resource("skill://greet/..%2Ftorn/SKILL.md"),
        client.read_resource("skill://greet/.env"),
        client.read_resource("skill://closed/SKILL.md"),
        client.read_resource("file:///etc/passwd"),
    ):
        try:
            raise AssertionError(await request)
        except MCPError as error:
            assert error.code in (-32602, -32002), error


def add_skill(name):
    directory = os.path.join(os.environ["HERMES_HOME"], "skills", name)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "SKILL.md"), "w") as file:
        file.write(f"---\nname: {name}\ndescription: New.\n---\nDo it.\n")


async def test_notifications(client, mode, received):
    """The server notifies of an added skill."""
    await client.list_prompts(cache_mode="refresh")
    name = f"new-{mode}"
    if mode == "legacy":
        add_skill(name)
        expected = {"notifications/prompts/list_changed", "notifications/resources/list_changed"}
        await eventually(lambda: expected <= set(received), received)
    else:
        async with client.listen(prompts_list_changed=True, resources_list_changed=True) as events:
            add_skill(name)
            kinds = set()
            async for event in events:
                kinds.add(type(event).__name__)
                if kinds >= {"PromptsListChanged", "ResourcesListChanged"}:
                    break
    listed = await client.list_prompts(cache_mode="refresh")
    assert name in {prompt.name for prompt in listed.prompts}, listed


async def test_approvals(client, user):
    user.answer = ElicitResult(action="decline")
    refused = await client.call_tool("todo", TODO)
    assert refused.is_error and '"denied"' in text(refused), refused
    assert "todo" in user.questions[-1].message, user.questions
    user.answer = ElicitResult(action="cancel")
    cancelled = await client.call_tool("todo", TODO)
    assert cancelled.is_error and '"denied"' in text(cancelled), cancelled
    user.accept(decision="once")
    done = await client.call_tool("todo", TODO)
    assert not done.is_error, done
    before = len(user.questions)
    user.accept(decision="session")
    assert not (await client.call_tool("todo", TODO)).is_error
    assert not (await client.call_tool("todo", TODO)).is_error
    assert len(user.questions) == before + 1, "asked again after an approval for the session"
    kept = await client.call_tool("todo", {})
    assert '"x"' in text(kept), kept
    user.accept(choice="blue")
    chosen = await client.call_tool(
        "clarify", {"question": "Which colour?", "choices": ["red", "blue"]}
    )
    assert "blue" in text(chosen), chosen
    assert "Which colour?" in user.questions[-1].message


async def test_without_user(client):
    held = await client.call_tool("todo", TODO)
    assert held.is_error and '"approval_required"' in text(held), held
    assert '"token"' in text(held), held
    empty = await client.call_tool("todo", {})
    assert '"x"' not in text(empty), "the list of another client is visible"


def is_running(mark):
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if f"\0{mark}\0".encode() in b"\0" + file.read():
                return True
    return False


async def eventually(condition, description):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, description
        await asyncio.sleep(0.02)


async def test_cancellation(client, mark):
    """Cancelling a call ends its processes."""
    call = asyncio.create_task(client.call_tool("terminal", {"command": f"sleep {mark}"}))
    await eventually(lambda: is_running(mark), "the command starts")
    call.cancel()
    with contextlib.suppress(asyncio.CancelledError, MCPError):
        await call
    await eventually(lambda: not is_running(mark), "the command ends")


async def test_progress(client):
    received = []

    async def on_progress(progress, total, message):
        received.append((progress, total, message))

    await client.call_tool("sleep", {"seconds": 0.3}, progress_callback=on_progress)
    values = [progress for progress, _, _ in received]
    assert values and values == sorted(set(values)), received


@contextlib.asynccontextmanager
async def over_http(url, token):
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            yield streams


def post_status(url, headers):
    """Returns the status of a request that is not valid MCP."""
    request = urllib.request.Request(url, b"{}", {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def test_authorization(url, token):
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    assert post_status(url, {}) == 401
    assert post_status(url, {"Authorization": "Bearer " + "0" * len(token)}) == 401
    assert post_status(url, {**headers, "Host": "evil.example"}) == 403
    assert post_status(url, {**headers, "Origin": "https://evil.example"}) == 403
    assert post_status(url + "/elsewhere", headers) == 404


async def main(transport, *rest):
    def connect(mode, user=None, received=None):
        async def on_message(message):
            if received is not None:
                received.append(getattr(message, "method", None))

        options = {"mode": mode, "elicitation_callback": user, "message_handler": on_message}
        if transport == "stdio":
            env = {name: os.environ[name] for name in ("HERMES_HOME", "HOME", "PATH")}
            params = StdioServerParameters(command=rest[0], args=rest[1:], env=env)
            return Client(params, **options)
        return Client(over_http(*rest), **options)

    async def test_all(mode):
        user, received = User(), []
        async with connect(mode, user, received) as client:
            expected = "2025-11-25" if mode == "legacy" else "2026-07-28"
            assert client.protocol_version == expected, client.protocol_version
            assert client.server_info.name == "hermes"
            await test_tool_list(client)
            await test_calls(client)
            await test_skills(client)
            await test_notifications(client, mode, received)
            await test_output_schemas(client, os.path.join(os.getcwd(), f"{mode}-files"))
            await test_approvals(client, user)
            await test_progress(client)
            await test_cancellation(client, f"86399.{os.getpid()}{'1' if mode == 'legacy' else '2'}")
        if (transport, mode) != ("http", "auto"):
            async with connect(mode) as client:
                await test_without_user(client)
    # Concurrently, since most of the time is waiting.
    await asyncio.gather(test_all("legacy"), test_all("auto"))
    if transport == "http":
        test_authorization(*rest)
    print("all well")


asyncio.run(main(*sys.argv[1:]))

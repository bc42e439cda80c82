"""A client of the official Python SDK that puts `hermes mcp serve` to the test.

    client.py stdio HERMES [ARGUMENTS...]
    client.py http URL TOKEN

The server asks before the task list is changed; notes.txt is in its folder,
and the skill "greet" in its home.
Everything is tried in both eras of the protocol. What is not as it should be
ends the program with a traceback.
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


class Person:
    """Whoever is asked; answers with what was prepared."""

    def __init__(self):
        self.asked = []
        self.answer = ElicitResult(action="decline")

    async def __call__(self, context, params):
        self.asked.append(params)
        return self.answer

    def says(self, **content):
        self.answer = ElicitResult(action="accept", content=content)


async def lists(client):
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


async def calls(client):
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
    # Side by side: the answers find their questions.
    several = await asyncio.gather(
        *(client.call_tool("terminal", {"command": f"echo number {n}"}) for n in range(8))
    )
    for n, result in enumerate(several):
        assert f"number {n}" in text(result), result


async def promises(client, folder):
    """Answers are what their schemas say; the SDK looks at each."""
    tools = (await client.list_tools()).tools
    promised = {tool.name for tool in tools if tool.output_schema}
    tried = set()

    async def call(name, **arguments):
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result
        assert result.structured_content == json.loads(text(result)), result
        tried.add(name)
        return result.structured_content

    made = f"{folder}/made.py"
    await call("write_file", path=made, content="one = 1\ntwo = (\n")
    await call("write_file", path=made, content="one = 1\ntwo = 2\n")
    await call("patch", path=made, old_string="one = 1", new_string="one = 11")
    whole = await call("read_file", path=made)
    assert whole["total_lines"] == 2 and "one = 11" in whole["content"], whole
    await call("read_file", path=made)
    await call("read_file", path=made, limit=1, fresh=True)
    await call("read_file", path=made, byte_offset=0, byte_limit=4)
    with open(f"{folder}/dot.bin", "wb") as file:
        file.write(bytes(range(256)))
    await call("read_file", path=f"{folder}/dot.bin")
    for more in ({}, {"context": 1}, {"output_mode": "files_only"}, {"output_mode": "count"},
                 {"target": "files", "pattern": "*.py"}, {"target": "fuzzy", "pattern": "mad"}):
        await call("search_files", **{"pattern": "one", "path": folder, **more})
    await call("directory_list", path=folder, depth=2, sort="size", folder_sizes=True)
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
    assert promised == tried | {"todo"}, promised ^ tried


async def offers(client):
    """Skills are prompts, and their files resources."""
    prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
    greet = prompts["greet"]
    assert greet.description == "Greets people.", greet
    assert [(a.name, a.required) for a in greet.arguments] == [("task", False)], greet
    # What cannot be used or must not be read is not offered.
    assert not {"torn", "lure", "closed"} & set(prompts), list(prompts)
    got = await client.get_prompt("greet", {"task": "Greet the world."})
    (message,) = got.messages
    said = message.content.text
    assert message.role == "user" and said.startswith("Greet the world.\n"), said
    assert "Say good day." in said and "skill://greet/references/two%20words.md" in said, said
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
    for wrong in (
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
            raise AssertionError(await wrong)
        except MCPError as error:
            assert error.code in (-32602, -32002), error


def add_skill(name):
    folder = os.path.join(os.environ["HERMES_HOME"], "skills", name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "SKILL.md"), "w") as file:
        file.write(f"---\nname: {name}\ndescription: New.\n---\nDo it.\n")


async def hears(client, mode, heard):
    """A skill that is added is told of."""
    await client.list_prompts(cache_mode="refresh")
    name = f"new-{mode}"
    if mode == "legacy":
        add_skill(name)
        wanted = {"notifications/prompts/list_changed", "notifications/resources/list_changed"}
        await eventually(lambda: wanted <= set(heard), heard)
    else:
        async with client.listen(prompts_list_changed=True, resources_list_changed=True) as news:
            add_skill(name)
            kinds = set()
            async for event in news:
                kinds.add(type(event).__name__)
                if kinds >= {"PromptsListChanged", "ResourcesListChanged"}:
                    break
    listed = await client.list_prompts(cache_mode="refresh")
    assert name in {prompt.name for prompt in listed.prompts}, listed


async def asks(client, person):
    person.answer = ElicitResult(action="decline")
    refused = await client.call_tool("todo", TODO)
    assert refused.is_error and '"denied"' in text(refused), refused
    assert "todo" in person.asked[-1].message, person.asked
    person.answer = ElicitResult(action="cancel")
    put_away = await client.call_tool("todo", TODO)
    assert put_away.is_error and '"denied"' in text(put_away), put_away
    person.says(decision="once")
    done = await client.call_tool("todo", TODO)
    assert not done.is_error, done
    before = len(person.asked)
    person.says(decision="session")
    assert not (await client.call_tool("todo", TODO)).is_error
    assert not (await client.call_tool("todo", TODO)).is_error
    assert len(person.asked) == before + 1, "asked again after a yes for the session"
    kept = await client.call_tool("todo", {})
    assert '"x"' in text(kept), kept
    person.says(choice="blue")
    chosen = await client.call_tool(
        "clarify", {"question": "Which colour?", "choices": ["red", "blue"]}
    )
    assert "blue" in text(chosen), chosen
    assert "Which colour?" in person.asked[-1].message


async def cannot_ask(client):
    held = await client.call_tool("todo", TODO)
    assert held.is_error and '"approval_required"' in text(held), held
    assert '"token"' in text(held), held
    empty = await client.call_tool("todo", {})
    assert '"x"' not in text(empty), "another client's list"


def running(mark):
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if f"\0{mark}\0".encode() in b"\0" + file.read():
                return True
    return False


async def eventually(wanted, what):
    until = time.monotonic() + 20
    while not wanted():
        assert time.monotonic() < until, what
        await asyncio.sleep(0.02)


async def stops(client, mark):
    """A call that is given up takes its processes along."""
    call = asyncio.create_task(client.call_tool("terminal", {"command": f"sleep {mark}"}))
    await eventually(lambda: running(mark), "the command starts")
    call.cancel()
    with contextlib.suppress(asyncio.CancelledError, MCPError):
        await call
    await eventually(lambda: not running(mark), "the command ends")


async def reports(client):
    heard = []

    async def hear(progress, total, message):
        heard.append((progress, total, message))

    await client.call_tool("sleep", {"seconds": 0.3}, progress_callback=hear)
    values = [progress for progress, _, _ in heard]
    assert values and values == sorted(set(values)), heard


@contextlib.asynccontextmanager
async def over_http(url, token):
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            yield streams


def knock(url, headers):
    """The status of a request that no client of the protocol would make."""
    request = urllib.request.Request(url, b"{}", {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def guards(url, token):
    shown = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    assert knock(url, {}) == 401
    assert knock(url, {"Authorization": "Bearer " + "0" * len(token)}) == 401
    assert knock(url, {**shown, "Host": "evil.example"}) == 403
    assert knock(url, {**shown, "Origin": "https://evil.example"}) == 403
    assert knock(url + "/elsewhere", shown) == 404


async def main(way, *rest):
    def connect(mode, person=None, heard=None):
        async def hear(message):
            if heard is not None:
                heard.append(getattr(message, "method", None))

        more = {"mode": mode, "elicitation_callback": person, "message_handler": hear}
        if way == "stdio":
            env = {name: os.environ[name] for name in ("HERMES_HOME", "HOME", "PATH")}
            params = StdioServerParameters(command=rest[0], args=rest[1:], env=env)
            return Client(params, **more)
        return Client(over_http(*rest), **more)

    async def try_all(mode):
        person, heard = Person(), []
        async with connect(mode, person, heard) as client:
            wanted = "2025-11-25" if mode == "legacy" else "2026-07-28"
            assert client.protocol_version == wanted, client.protocol_version
            assert client.server_info.name == "hermes"
            await lists(client)
            await calls(client)
            await offers(client)
            await hears(client, mode, heard)
            await promises(client, os.path.join(os.getcwd(), f"{mode}-files"))
            await asks(client, person)
            await reports(client)
            await stops(client, f"86399.{os.getpid()}{'1' if mode == 'legacy' else '2'}")
        if (way, mode) != ("http", "auto"):
            async with connect(mode) as client:
                await cannot_ask(client)
    # Side by side: most of it is waiting.
    await asyncio.gather(try_all("legacy"), try_all("auto"))
    if way == "http":
        guards(*rest)
    print("all well")


asyncio.run(main(*sys.argv[1:]))

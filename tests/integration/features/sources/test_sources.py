"""Agents whose skills come from a source: card, checks, calls, and changes while they run."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from pathlib import Path

import httpx
import pytest
from litestar import Litestar

from a2a_contract.errors import (
    A2AError,
    InvalidParamsError,
    MethodNotFoundError,
    PermissionDeniedError,
)
from a2a_contract.v1_0 import Message, Part, Role, Task, TaskArtifactUpdateEvent
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.base.caller import Caller
from a2a_runtime.client import A2AClient
from a2a_runtime.errors import SkillSourceError
from a2a_runtime.features.sources import SkillDescriptor
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app
from a2a_runtime.testing.skill_source import FunctionSource

pytestmark = pytest.mark.anyio
URL = "http://agent"
CARD = "/.well-known/agent-card.json"
NUMBER = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
    "additionalProperties": False,
}
RESULT = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
DOUBLE = SkillDescriptor(
    "double",
    "Doubles a number.",
    tags=("math",),
    input_schema=NUMBER,
    output_schema=RESULT,
    is_idempotent=True,
)


def double(value: object, _ctx: SkillContext) -> object:
    """Double a number."""
    assert isinstance(value, dict)
    return {"result": value["number"] * 2}


async def count(value: object, _ctx: SkillContext) -> AsyncGenerator[object, None]:
    """Count up to a number."""
    assert isinstance(value, dict)
    for number in range(value["number"]):
        yield number


@pytest.fixture
def source() -> FunctionSource:
    """A source of two skills."""
    source = FunctionSource()
    source.add(DOUBLE, double)
    source.add(SkillDescriptor("count", "Counts.", input_schema=NUMBER, streams=True), count)
    return source


def app_of(source: FunctionSource, **options: object) -> Litestar:
    """Make an app of an agent with a source."""
    return create_app(
        Surface(Agent("calculator", sources=[source])), settings=FAST_SETTINGS, **options
    )  # type: ignore[arg-type]


@pytest.fixture
async def transport(source: FunctionSource) -> AsyncGenerator[httpx.AsyncBaseTransport, None]:
    """A way to the agent."""
    async with run_app(app_of(source)) as transport:
        yield transport


@pytest.fixture
async def http(transport: httpx.AsyncBaseTransport) -> AsyncGenerator[httpx.AsyncClient, None]:
    """Plain HTTP to the agent."""
    async with httpx.AsyncClient(base_url=URL, transport=transport) as http:
        yield http


def call_skill(skill: str, part: Part) -> Message:
    """Call a skill by its id."""
    return Message(message_id="m-1", role=Role.USER, parts=[part], metadata={"skillId": skill})


async def skills_on_card(http: httpx.AsyncClient) -> list[str]:
    """List the skills on the card."""
    return [skill["id"] for skill in (await http.get(CARD)).json()["skills"]]


async def card_lists(http: httpx.AsyncClient, skills: list[str]) -> None:
    """Wait until the card lists these skills."""
    async with asyncio.timeout(10):
        # A card has no event to wait for.
        while await skills_on_card(http) != skills:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_the_card_has_what_the_source_describes(http: httpx.AsyncClient) -> None:
    """Skills, and their schemas where the extension says they are."""
    card = (await http.get(CARD)).json()
    assert [(skill["id"], skill["description"], skill["tags"]) for skill in card["skills"]] == [
        ("double", "Doubles a number.", ["math"]),
        ("count", "Counts.", []),
    ]
    assert (await http.get("/schemas/double/input.json")).json() == NUMBER
    assert "/skills/double" in (await http.get("/schema/openapi.json")).json()["paths"]


async def test_calls_are_checked_and_answered(
    transport: httpx.AsyncBaseTransport, http: httpx.AsyncClient
) -> None:
    """Input that does not match is refused before there is a task; output comes as data, over the
    protocol and over plain HTTP.
    """
    async with A2AClient(URL, transport=transport) as client:
        task = await client.send(call_skill("double", Part(data={"number": 21})))
        assert isinstance(task, Task)
        assert [part.data for part in (task.artifacts or [])[0].parts] == [{"result": 42}]
        with pytest.raises(InvalidParamsError) as refused:
            await client.send(call_skill("double", Part(data={"number": "21"})))
        assert [path for path, _ in refused.value.fields] == ["message.parts[0].data.number"]
    assert (await http.post("/skills/double", json={"number": 4})).json() == {"result": 8}


async def test_a_skill_that_streams_returns_all_at_once_to_others(
    transport: httpx.AsyncBaseTransport,
) -> None:
    """A stream has one chunk for each value; a blocking call gets one value."""
    async with A2AClient(URL, transport=transport) as client:
        task = await client.send(call_skill("count", Part(data={"number": 3})))
        assert isinstance(task, Task)
        assert [part.data for part in (task.artifacts or [])[0].parts] == [[0, 1, 2]]
        events = [
            event async for event in client.stream(call_skill("count", Part(data={"number": 3})))
        ]
        chunks = [
            event.artifact.parts[0].data
            for event in events
            if isinstance(event, TaskArtifactUpdateEvent)
        ]
        assert chunks == [0, 1, 2]


async def test_one_of_many_skills_has_to_be_chosen(transport: httpx.AsyncBaseTransport) -> None:
    """The first skill of a source is not more likely to be meant than another."""
    async with A2AClient(URL, transport=transport) as client:
        with pytest.raises(InvalidParamsError) as refused:
            await client.send(Message(message_id="m-1", role=Role.USER, parts=[Part(text="hello")]))
        assert refused.value.fields == (
            ("metadata.skillId", "Name a skill; there are double, count"),
        )


async def test_a_change_replaces_all_at_once(
    source: FunctionSource, http: httpx.AsyncClient
) -> None:
    """Card, ETag, OpenAPI and calls follow a change that comes from another thread."""
    before = (await http.get(CARD)).headers["etag"]
    changing = threading.Thread(
        target=source.add,
        args=(
            SkillDescriptor("half", "Halves.", input_schema=NUMBER),
            lambda value, _: value["number"] // 2,
        ),
    )
    changing.start()
    changing.join()
    await card_lists(http, ["double", "count", "half"])
    assert (await http.get(CARD)).headers["etag"] != before
    assert (await http.post("/skills/half", json={"number": 4})).json() == 2
    source.remove("half")
    await card_lists(http, ["double", "count"])
    assert (await http.get(CARD)).headers["etag"] == before
    assert (await http.post("/skills/half", json={"number": 4})).status_code == 404
    assert "/skills/half" not in (await http.get("/schema/openapi.json")).json()["paths"]


async def test_a_run_keeps_the_descriptor_that_it_began_with(
    source: FunctionSource, transport: httpx.AsyncBaseTransport
) -> None:
    """The skill is removed in the midst of its call, and the task completes under its schema."""
    begun = asyncio.Event()
    go_on = asyncio.Event()

    async def slow(_value: object, _ctx: SkillContext) -> object:
        begun.set()
        await go_on.wait()
        return {"result": 1}

    async with httpx.AsyncClient(base_url=URL, transport=transport) as http:
        source.add(
            SkillDescriptor("slow", "Waits.", input_schema=NUMBER, output_schema=RESULT), slow
        )
        await card_lists(http, ["double", "count", "slow"])
        call = asyncio.create_task(http.post("/skills/slow", json={"number": 1}))
        await begun.wait()
        source.remove("slow")
        await card_lists(http, ["double", "count"])
        go_on.set()
        assert (await call).json() == {"result": 1}


async def test_a_list_that_cannot_be_offered_changes_nothing(
    source: FunctionSource, http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    """The skills stay as they were, and the log names the schema that is wrong."""
    source.add(SkillDescriptor("broken", "Never works.", input_schema={"type": "nothing"}), double)
    async with asyncio.timeout(10):
        while "skill 'broken': its input schema cannot be used" not in caplog.text:  # noqa: ASYNC110 - a log has no event to wait for
            await asyncio.sleep(0.005)
    assert await skills_on_card(http) == ["double", "count"]


@pytest.mark.parametrize(
    ("descriptor", "message"),
    [
        (
            SkillDescriptor("bad", input_schema={"type": "nothing"}),
            r"source FunctionSource: skill 'bad': its input schema cannot be used",
        ),
        (SkillDescriptor("bad id"), r"'bad id' is not a skill id"),
    ],
    ids=["schema", "id"],
)
async def test_a_source_that_cannot_be_offered_is_an_error_at_start(
    descriptor: SkillDescriptor, message: str
) -> None:
    """The app does not start, and the message names source and skill."""
    source = FunctionSource()
    source.add(descriptor, double)
    with pytest.RaisesGroup(
        pytest.RaisesExc(SkillSourceError, match=message),
        flatten_subgroups=True,
        allow_unwrapped=True,
    ):
        async with run_app(app_of(source)):
            pass
    assert not source.is_open


async def test_two_skills_of_one_name_are_an_error_at_start(source: FunctionSource) -> None:
    """A declared skill and one of a source."""
    agent = Agent("calculator", sources=[source])
    agent.add("double", lambda ctx: ctx.text)
    with pytest.RaisesGroup(
        pytest.RaisesExc(SkillSourceError, match="two skills 'double'"),
        flatten_subgroups=True,
        allow_unwrapped=True,
    ):
        async with run_app(create_app(agent, settings=FAST_SETTINGS)):
            pass


async def test_before_the_source_is_open_there_is_no_card(source: FunctionSource) -> None:
    """An app whose lifespan has not run, or is over, is unavailable: a card without skills would be
    cached.
    """
    app = app_of(source)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=URL) as http:
        assert (await http.get(CARD)).status_code == 503
        async with run_app(app):
            assert source.is_open
            assert (await http.get(CARD)).status_code == 200
        assert not source.is_open
        assert (await http.get(CARD)).status_code == 503


async def test_a_source_may_refuse_a_call_before_there_is_a_task() -> None:
    """An error of the check is the response, and no task is stored."""

    class Denying(FunctionSource):
        async def check(self, skill: SkillDescriptor, value: object, caller: Caller) -> None:
            raise PermissionDeniedError(f"{caller.owner or 'anonymous'} may not {skill.id} {value}")

    source = Denying()
    source.add(DOUBLE, double)
    async with run_app(app_of(source)) as transport, A2AClient(URL, transport=transport) as client:
        with pytest.raises(
            PermissionDeniedError, match=r"anonymous may not double \{'number': 1\}"
        ):
            await client.send(call_skill("double", Part(data={"number": 1})))
        assert [task async for task in client.list()] == []


async def test_a_source_may_read_the_parts_itself() -> None:
    """It gets parts of any media type, and the value that it returns is not checked against the
    schema: that is left to its own check.
    """

    def parse(parts: Sequence[Part]) -> object:
        if not parts[0].filename:
            raise InvalidParamsError("Name the file")
        return parts[0].filename

    source = FunctionSource()
    source.add(
        SkillDescriptor("open", input_schema=NUMBER, parse=parse),
        lambda value, _: f"{value} is open",
    )
    async with run_app(app_of(source)) as transport, A2AClient(URL, transport=transport) as client:
        task = await client.send(
            call_skill(
                "open", Part(url="https://x/a.png", filename="a.png", media_type="image/png")
            )
        )
        assert isinstance(task, Task)
        assert (task.artifacts or [])[0].parts[0].data == "a.png is open"
        with pytest.raises(InvalidParamsError, match="Name the file"):
            await client.send(call_skill("open", Part(text="a.png")))


async def test_an_agent_builds_the_error_of_a_skill_that_is_not_there(
    source: FunctionSource,
) -> None:
    """Also of a message that names none, though there is only one skill."""
    source.remove("count")

    def explain(skill: str | None) -> A2AError:
        return MethodNotFoundError(f"No {skill}")

    app = create_app(
        Agent("calculator", sources=[source], selection_error=explain), settings=FAST_SETTINGS
    )
    async with run_app(app) as transport, A2AClient(URL, transport=transport) as client:
        with pytest.raises(MethodNotFoundError, match="No half"):
            await client.send(call_skill("half", Part(data={"number": 1})))
        with pytest.raises(MethodNotFoundError, match="No None"):
            await client.send("4")


async def test_an_agent_may_leave_its_card_to_its_skills() -> None:
    """Its description and whether it streams follow the skills; it may be called with a stream in
    any case.
    """

    class Counted(FunctionSource):
        def summarize(self, skills: int) -> str:
            return f"{skills} skills"

    counted = Counted()
    counted.add(DOUBLE, double)
    agent = Agent("calculator", capabilities=Capabilities(streaming=None), sources=[counted])
    async with (
        run_app(create_app(agent, settings=FAST_SETTINGS)) as transport,
        httpx.AsyncClient(base_url=URL, transport=transport) as http,
    ):
        card = (await http.get(CARD)).json()
        assert (card["description"], card["capabilities"]["streaming"]) == ("1 skills", False)
        body = {
            "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"data": {"number": 2}}]},
            "metadata": {"skillId": "double"},
        }
        response = await http.post("/message:stream", json=body, headers={"a2a-version": "1.0"})
        assert response.headers["content-type"].startswith("text/event-stream")
        counted.add(SkillDescriptor("count", "Counts.", input_schema=NUMBER, streams=True), count)
        await card_lists(http, ["double", "count"])
        card = (await http.get(CARD)).json()
        assert (card["description"], card["capabilities"]["streaming"]) == ("2 skills", True)


PROJECT = """
from a2a_runtime.agent import Agent
from a2a_runtime.errors import SkillSourceError
from a2a_runtime.features.sources import SkillDescriptor
from a2a_runtime.testing.skill_source import FunctionSource

class Away(FunctionSource):
    async def open(self, announce):
        raise SkillSourceError("the source: cannot be reached; start it")

integer = {"type": "integer"}
double = SkillDescriptor("double", "Doubles.", input_schema=integer, output_schema=integer)
source = FunctionSource()
source.add(double, lambda value, _: value * 2)
agent, away = Agent("calculator", sources=[source]), Agent("away", sources=[Away()])
"""


def test_the_schemas_of_a_source_are_written_down(tmp_path: Path) -> None:
    """As a project that can be built and compared; a source that is away is one error."""
    (tmp_path / "project.py").write_text(PROJECT, encoding="utf-8")
    run = partial(subprocess.run, cwd=tmp_path, capture_output=True, text=True, check=False)
    command = [sys.executable, "-c", "from a2a_runtime.cli.schema import command; command()"]
    written = run([*command, "project:agent"])
    assert written.returncode == 0, written.stderr
    assert json.loads((tmp_path / "contract/schema/double.input.json").read_text()) == {
        "type": "integer"
    }
    assert '[skills."double"]' in (tmp_path / "contract/a2a.toml").read_text()
    assert run([*command, "project:agent", "--check"]).returncode == 0
    refused = run([*command, "project:away"])
    assert (refused.returncode, "the source: cannot be reached; start it" in refused.stderr) == (
        2,
        True,
    )

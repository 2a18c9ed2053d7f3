"""Values of every kind go through a skill and come back as they were: as input, output, chunk and
reply, in every dialect, and by plain HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from contract.made_schemas import PAYMENT
from pydantic_core import to_json

from a2a_contract.base import JsonObject
from a2a_contract.dialects import V0_3, V0_3_PROTO, V1_0
from a2a_contract.errors import InvalidParamsError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Part, Role
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.client import ClientOptions, Pin
from a2a_runtime.client.typed import PendingQuestion, SkillClient
from a2a_runtime.client.typed.results import parse_output
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.handlers import StreamingHandler, UnaryHandler
from a2a_runtime.skills.model import SkillModel
from a2a_runtime.skills.schema import TEXT, TypedSchema
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app

pytestmark = pytest.mark.anyio
URL = "http://agent"

VALUES: dict[str, tuple[JsonObject, list[object]]] = {
    "text": ({"type": "string"}, ["hello", "1", "null", ""]),
    "words": ({"enum": ["a", "1", "null"]}, ["a", "1", "null"]),
    "one word": ({"const": "yes"}, ["yes"]),
    "text or null": ({"type": ["string", "null"]}, ["x", "null", None]),
    "a text elsewhere": ({"$ref": "#/$defs/T", "$defs": {"T": {"type": "string"}}}, ["hello", "1"]),
    "text or object": (
        {"oneOf": [{"type": "string"}, {"type": "object"}]},
        ["hello", '{"x":1}', {"x": 1}],
    ),
    "anything": ({}, ["hello", "1", None, {"a": None}, 10**40, 1.5, [], True]),
    "numbers": ({"type": "integer"}, [3, 10**30]),
    "lists": ({"type": "array"}, [["a"], [], [None]]),
}
DIALECTS = [V1_0.name, V0_3.name, V0_3_PROTO.name]


class Whatever(SkillClient):
    """A client for skills that are made here."""

    async def call(
        self, skill: SkillContract[object, object], value: object, reply: object = None
    ) -> object:
        """Call a skill, and answer what it asks with a value."""
        return await self._call(skill, value, {"on_ask": lambda _: reply})

    async def stream(self, skill: SkillContract[object, object], value: object) -> list[object]:
        """Call a skill that streams."""
        return [each async for each in self._stream(skill, value, {})]


async def echo(value: object, _ctx: SkillContext) -> object:
    """Give back what came in."""
    return value


async def twice(value: object, _ctx: SkillContext) -> AsyncIterator[object]:
    """Give it twice."""
    yield value
    yield value


@asynccontextmanager
async def agent_of(
    schema: JsonObject, of: object = object
) -> AsyncGenerator[tuple[httpx.AsyncBaseTransport, list[SkillContract[object, object]]], None]:
    """Serve three skills with a schema: one that echoes, one that streams and one that asks."""
    form: TypedSchema[object] = TypedSchema(of, schema)

    async def ask(_value: object, ctx: SkillContext) -> object:
        return await ctx.ask("Well?", reply=form)

    contracts = [
        SkillContract("echo", form, form),
        SkillContract("twice", form, form, streams=True),
        SkillContract("ask", form, form, replies=(form,)),
    ]
    agent = Agent("values", description="Echoes.")
    agent.add("echo", UnaryHandler(contracts[0], echo), contract=contracts[0])
    agent.add("twice", StreamingHandler(contracts[1], twice), contract=contracts[1])
    agent.add("ask", UnaryHandler(contracts[2], ask), contract=contracts[2])
    async with run_app(create_app(agent, settings=FAST_SETTINGS)) as transport:
        yield transport, contracts


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("schema", "values"), VALUES.values(), ids=VALUES)
async def test_values_come_back_as_they_were(
    schema: JsonObject, values: list[object], dialect: str
) -> None:
    """A text that looks like JSON stays a text, null stays null, and large integers keep their
    digits.
    """
    options = ClientOptions(pin=Pin(dialect))
    async with (
        agent_of(schema) as (transport, (once, streamed, asking)),
        Whatever(URL, transport=transport, options=options) as client,
    ):
        for value in values:
            assert await client.call(once, value) == value
            assert await client.stream(streamed, value) == [value, value]
            assert await client.call(asking, value, value) == value


@pytest.mark.parametrize(("schema", "values"), VALUES.values(), ids=VALUES)
async def test_plain_http_takes_and_gives_the_same(
    schema: JsonObject, values: list[object]
) -> None:
    """The body is the value, whatever it is."""
    async with (
        agent_of(schema) as (transport, _),
        httpx.AsyncClient(base_url=URL, transport=transport) as http,
    ):
        for value in values:
            answer = await http.post(
                "/skills/echo", content=to_json(value), headers={"content-type": "application/json"}
            )
            assert (answer.status_code, answer.json()) == (200, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("a", "a"), ("1", "1"), ('"a"', "a"), ("null", "null")],
    ids=["a word", "a number that is one", "JSON", "null that is one"],
)
async def test_plain_text_is_a_value_of_its_schema(text: str, value: str) -> None:
    """A text that is no JSON but fits the schema is the value: users type replies without
    quotes.
    """
    async with (
        agent_of({"enum": ["a", "1", "null"]}) as (transport, (once, _, _)),
        Whatever(URL, transport=transport) as client,
    ):
        said = Message(
            message_id="m", role=Role.USER, parts=[Part(text=text)], metadata={"skillId": "echo"}
        )
        assert parse_output(once.output, await client.untyped.send(said)) == value


async def test_a_refusal_names_the_place_inside_the_branch_of_a_union() -> None:
    """The tag picks the branch: over the protocol, over plain HTTP and in the typed client, which
    refuses before it sends.
    """
    wrong = {"payment": {"kind": "card", "card": {"pan": "12"}}}
    reason = ("payment.card.pan", 'the value does not match "^[0-9]{12,19}$"')
    async with (
        agent_of(PAYMENT) as (transport, (once, _, _)),
        Whatever(URL, transport=transport) as client,
    ):
        with pytest.raises(InvalidParamsError) as refused:
            await client.call(once, wrong)
        assert tuple(refused.value.fields) == (reason,)
        unchecked = SkillContract(once.id, TypedSchema[object](object, {}), once.output)
        with pytest.raises(InvalidParamsError) as refused:
            await client.call(unchecked, wrong)
        assert tuple(refused.value.fields) == (reason,)
        async with httpx.AsyncClient(base_url=URL, transport=transport) as http:
            answer = await http.post("/skills/echo", json=wrong)
        places = [
            each["fieldViolations"]
            for each in answer.json()["error"]["details"]
            if "fieldViolations" in each
        ]
        assert (answer.status_code, places) == (
            400,
            [[{"field": reason[0], "description": reason[1]}]],
        )


class Wrapped(SkillModel):
    """A model with a type of the protocol inside, and with nulls of its own."""

    part: Part
    remark: str | None
    note: str | None = None
    __nullable__ = frozenset({"note"})


async def test_types_of_the_protocol_keep_its_form() -> None:
    """Absent members of a part are left out; null stays where the schema of the skill allows it."""
    form = TypedSchema[Wrapped](
        Wrapped,
        {
            "type": "object",
            "properties": {"part": {"type": "object", "properties": {"raw": {"type": "string"}}}},
        },
    )
    document = {
        "part": {"text": "x"},
        "remark": None,
        "note": None,
        "more": None,
        "deep": {"a": None},
    }
    assert form.serialize(form.parse(document)) == document
    assert form.serialize(Wrapped(part=Part(text="x"), remark=None)) == {
        "part": {"text": "x"},
        "remark": None,
    }


class Slow(httpx.AsyncBaseTransport):
    """An agent that does not stream, answers at once, and is done at the next poll."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer."""
        if request.method == "GET":
            interface = {"url": URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            facts = {
                "description": "",
                "version": "1",
                "capabilities": {},
                "skills": [],
                "defaultInputModes": [],
                "defaultOutputModes": [],
            }
            return httpx.Response(
                200, json={"name": "slow", "supportedInterfaces": [interface], **facts}
            )
        body = await request.aread()
        call: dict[str, object] = httpx.Response(200, content=body).json()
        self.calls.append(str(call["method"]))
        state = State.COMPLETED if len(self.calls) > 2 else State.WORKING
        task = {
            "id": "t",
            "contextId": "c",
            "status": {"state": str(state)},
            "artifacts": [{"artifactId": "result", "parts": [{"text": "done"}]}],
        }
        result: object = {"task": task} if len(self.calls) == 1 else task
        return httpx.Response(200, json={"jsonrpc": "2.0", "id": call["id"], "result": result})


async def test_a_working_task_is_polled() -> None:
    """An agent without streams that returns a working task is polled until the task ends; no
    callback is called.
    """
    slow = Slow()
    async with Whatever(URL, transport=slow) as client:
        skill: SkillContract[object, object] = SkillContract("plain", TEXT, TEXT)  # type: ignore[arg-type]
        assert await client.call(skill, "x") == "done"
    assert len(slow.calls) == 3
    assert len(set(slow.calls)) == 2


@pytest.mark.parametrize("ends", [True, False], ids=["an error", "canceled"])
async def test_an_error_in_a_callback_cancels_the_task(*, ends: bool) -> None:
    """An error in a callback ends the call and cancels the task."""
    seen: list[PendingQuestion] = []

    async def fails(question: PendingQuestion) -> object:
        seen.append(question)
        if ends:
            raise KeyError("mine")
        return await asyncio.Event().wait()

    async with (
        agent_of({"type": "string"}) as (transport, (_, _, asking)),
        Whatever(URL, transport=transport) as client,
    ):
        with pytest.raises((KeyError, TimeoutError)):
            async with asyncio.timeout(1):
                await client._call(asking, "x", {"on_ask": fails})
        assert (await client.untyped.get(seen[0].task)).status.state == State.CANCELED

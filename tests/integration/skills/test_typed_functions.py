"""Typed functions: contracts from annotations, checked and published as those from files."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from imported_modules import forget_modules_below
from integration.outcome_agent import serve_on_socket
from pydantic import BaseModel, ConfigDict, Field, computed_field

from a2a_contract.extension_table import SKILL_SCHEMAS
from a2a_contract.v1_0 import Message
from a2a_gen.entry import main
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.client import A2AClient
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app

if TYPE_CHECKING:
    from collections import OrderedDict

pytestmark = pytest.mark.anyio
URL = "http://agent"


class BookFlight(BaseModel):
    """A wish."""

    model_config = ConfigDict(strict=True)
    to: str = Field(min_length=3, alias="destination")
    day: date
    seats: int = 1


class Booking(BaseModel):
    """A booking."""

    number: str
    note: str | None = None

    @computed_field  # type: ignore[prop-decorator]  # as Pydantic documents it
    @property
    def is_group(self) -> bool:
        """A member of the output alone."""
        return self.number.endswith("0")


@dataclass
class Approval:
    """An answer."""

    approved: bool


class Prices:
    """A dependency."""

    day = 7


agent = Agent("travel agent", description="Books flights.")
agent.provide(prices=Prices)


@agent.skill(default=True)
async def book(request: BookFlight, ctx: SkillContext, prices: Prices) -> Booking:
    """Book a flight."""
    await ctx.progress(0.5)
    return Booking(number=f"{request.to}-{request.day.day + prices.day}-{request.seats}")


@agent.skill
def search(request: BookFlight) -> list[Booking]:
    """Search in a thread, and return what only the schema makes a list of models."""
    return [{"number": threading.current_thread().name}, Booking(number=request.to, note="cheap")]  # type: ignore[list-item]  # as many write it


@agent.skill("follow")
async def follow_flight(request: BookFlight, prices: Prices) -> AsyncIterator[Booking]:
    """Yield positions."""
    for number in range(request.seats):
        yield Booking(number=str(number * prices.day))


@agent.skill(asks=[Approval])
async def cancel(number: str, ctx: SkillContext) -> str:
    """Cancel what a text names, after an answer."""
    return f"{number}: {(await ctx.ask('Really?', reply=Approval)).approved}"


@agent.skill
async def broken(request: BookFlight, context: TaskContext) -> Booking:
    """Return what is no booking; its context is the untyped one."""
    # The wrong type is the point of the test.
    return {"number": context.task_id and request.seats}  # type: ignore[return-value]


@agent.skill(answers="message")
async def count(words: list[str]) -> int:
    """Count without a task."""
    return len(words)


@pytest.fixture
async def http() -> AsyncGenerator[httpx.AsyncClient, None]:
    """Plain HTTP to the agent."""
    async with (
        run_app(create_app(agent, settings=FAST_SETTINGS)) as transport,
        httpx.AsyncClient(base_url=URL, transport=transport) as http,
    ):
        yield http


WISH = {"destination": "Rome", "day": "2026-02-03"}


@pytest.mark.parametrize(
    ("skill", "sent", "output"),
    [
        ("book", WISH, {"number": "Rome-10-1", "note": None, "is_group": False}),
        (
            "search",
            WISH,
            [
                {"number": "a2a-handler", "note": None, "is_group": False},
                {"number": "Rome", "note": "cheap", "is_group": False},
            ],
        ),
        (
            "follow",
            {**WISH, "seats": 2},
            [
                {"number": "0", "note": None, "is_group": True},
                {"number": "7", "note": None, "is_group": False},
            ],
        ),
        ("count", ["a", "b"], 2),
    ],
)
async def test_functions_take_and_return_models(
    http: httpx.AsyncClient, skill: str, sent: object, output: object
) -> None:
    """The input is a model, also a strict one; models, dicts and lists of both are written as the
    type of the output, with computed members.
    """
    answer = await http.post(f"/skills/{skill}", json=sent)
    assert (answer.status_code, answer.json()) == (200, output)


async def test_an_input_that_does_not_match_is_refused_before_there_is_a_task(
    http: httpx.AsyncClient,
) -> None:
    """Every error is listed, in every dialect."""
    answer = await http.post("/skills/book", json={"destination": "Ro", "seats": "2"})
    fields = {each["field"] for each in answer.json()["error"]["details"][1]["fieldViolations"]}
    assert (answer.status_code, fields) == (400, {"destination", "day", "seats"})
    params = {
        "message": {
            "kind": "message",
            "messageId": "m",
            "role": "user",
            "parts": [{"kind": "data", "data": {"destination": "Rome"}}],
        }
    }
    said = (
        await http.post(
            "/", json={"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params}
        )
    ).json()
    assert (said["error"]["code"], said["error"]["data"]["fields"][0]["field"]) == (
        -32602,
        "message.parts[0].data.day",
    )
    assert (await http.get("/tasks", headers={"A2A-Version": "1.0"})).json()["tasks"] == []


async def test_an_output_that_does_not_match_fails_the_task(
    http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names the skill and the member; the caller reads that the agent failed."""
    assert (await http.post("/skills/broken", json=WISH)).status_code == 500
    assert "skill broken: output does not match its schema: number:" in caplog.text


async def test_questions_have_typed_answers(http: httpx.AsyncClient) -> None:
    """The schema of the answer is that of its type, and refuses others."""
    question = (
        await http.post("/skills/cancel", content="R-1", headers={"Content-Type": "text/plain"})
    ).json()
    assert question["question"]["schema"]["required"] == ["approved"]
    path = f"/skills/cancel?taskId={question['taskId']}"
    assert (await http.post(path, json={"approved": "yes!"})).status_code == 400
    assert (await http.post(path, json={"approved": True})).json() == "R-1: True"


async def test_the_card_and_the_openapi_document_have_the_schemas(http: httpx.AsyncClient) -> None:
    """As for skills with files: the extension of the card names each schema, its address serves it,
    and calls are documented.
    """
    card = (await http.get("/.well-known/agent-card.json", headers={"A2A-Version": "1.0"})).json()
    (extension,) = [
        each for each in card["capabilities"]["extensions"] if each["uri"] == SKILL_SCHEMAS.uri
    ]
    skills = extension["params"]["skills"]
    assert {
        name: (each["streaming"], *sorted(each.keys() - {"streaming"}))
        for name, each in skills.items()
    } == {
        "book": (False, "input", "output"),
        "search": (False, "input", "output"),
        "follow": (True, "input", "output"),
        "broken": (False, "input", "output"),
        "count": (False, "input", "output"),
    }
    served = (await http.get(skills["book"]["input"]["url"])).json()
    assert (served["$id"], served["required"]) == (
        "urn:a2a-gen:travel%20agent:book:input",
        ["destination", "day"],
    )
    paths = (await http.get("/schema/openapi.json")).json()["paths"]
    assert paths["/skills/book"]["post"]["requestBody"]["content"]["application/json"]["schema"][
        "properties"
    ].keys() == {
        "destination",
        "day",
        "seats",
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to write contracts to, from which they are imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "contract"))
    yield tmp_path
    forget_modules_below(tmp_path)


NAME = f"{__name__}:agent"


def test_the_contract_is_written_down(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From the files a typed client is built that calls the agent, and a later change of a function
    is a breaking change.
    """
    assert main(["schema", NAME]) == 0
    assert main(["schema", NAME, "--check"]) == 0
    assert main(["schema", NAME, "-o", "other"]) == 0
    old = (folder / "other" / "schema" / "types.json").read_text()
    (folder / "other" / "schema" / "types.json").write_text(
        old.replace('"destination"', '"target"')
    )
    assert main(["schema", NAME, "-o", "other", "--check"]) == 1
    capsys.readouterr()
    assert main(["diff", "other", "contract"]) == 1
    assert "destination" in capsys.readouterr().out
    build_in(folder / "contract")
    contract: Any = importlib.import_module("travel_agent_contract")
    with serve_on_socket(create_app(agent, settings=FAST_SETTINGS)) as socket:
        assert asyncio.run(call_agent(contract, str(socket.base_url))) == (
            "Rome-10-2",
            ["0", "7"],
            "R-1: True",
        )


def build_in(folder: Path) -> None:
    """Run ``a2a-gen build`` in a folder."""
    with chdir(folder):
        assert main(["build"]) == 0


async def call_agent(
    contract: Any,  # noqa: ANN401 - a package that a test has made
    url: str,
) -> tuple[object, object, object]:
    """Call three skills with the built client."""
    async with contract.TravelAgentClient(url) as client:
        wish = contract.BookFlight(destination="Rome", day=date(2026, 2, 3), seats=2)
        booked = await client.book(wish)
        positions = [each.number async for each in client.follow(wish)]
        return (
            booked.number,
            positions,
            await client.cancel("R-1", on_ask=lambda _question: contract.Approval(approved=True)),
        )


def test_a_project_that_a_person_wrote_is_not_overwritten(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the file and two ways to go on."""
    (folder / "contract").mkdir()
    (folder / "contract" / "a2a.toml").write_text("[agent]\n")
    assert main(["schema", NAME]) == 2
    assert (
        "contract/a2a.toml: written by hand; choose another folder with -o, or remove the file"
        in capsys.readouterr().err
    )
    assert main(["schema", f"{__name__}:nothing"]) == 2


async def test_a_plain_call_that_fails_names_the_skills_and_the_members() -> None:
    """A skill that is not there, one without types, and a body that is no JSON: each says what
    there is.
    """
    agent = Agent("a")
    agent.add("greet", lambda ctx: ctx.text)

    @agent.skill
    async def add(a: int, b: int = 0) -> int:
        return a + b

    plain = {"Content-Type": "text/plain"}
    async with (
        run_app(create_app(agent)) as transport,
        httpx.AsyncClient(transport=transport, base_url=URL) as client,
    ):
        absent, untyped, text = [
            await client.post(f"/skills/{skill}", content="ten", headers=plain)
            for skill in ("nope", "greet", "add")
        ]
    assert absent.json()["error"]["message"] == "There is no such skill. Skills with a path: add"
    assert (
        untyped.json()["error"]["message"]
        == "This skill has no types, so it has no path; send it a message. Skills with a path: add"
    )
    assert 'This is no JSON; the skill takes an object with \\"a\\", [\\"b\\"]' in text.text


async def test_a_bare_client_sends_json(http: httpx.AsyncClient) -> None:
    """A client without the types sends data, and reads data."""
    async with A2AClient(URL, transport=http._transport) as client:
        answer = await client.send(WISH)
        assert not isinstance(answer, Message)
        assert (answer.artifacts or [])[0].parts[0].data == {
            "number": "Rome-10-1",
            "note": None,
            "is_group": False,
        }


# The wrong type is the point of the test.
async def no_output(request: BookFlight):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Return something."""
    return request


async def hidden_type(request: OrderedDict[str, str]) -> str:
    """Take a type that only type checkers know."""
    return str(request)


async def message_input(message: Message) -> str:
    """Take a message of the protocol."""
    return message.message_id


async def wrong_stream(request: BookFlight) -> Booking:  # type: ignore[misc]  # which is the point
    """Yield without saying so."""
    yield Booking(number=request.to)


async def unknown_parameter(request: BookFlight, database: object) -> str:
    """Take a dependency that is not declared."""
    return f"{request}{database}"


def plain_generator(request: BookFlight) -> Booking:  # type: ignore[misc]  # which is the point
    """Yield without async, and without saying so."""
    yield Booking(number=request.to)


async def no_chunks(request: BookFlight) -> AsyncIterator[Booking]:
    """Return one chunk."""
    return Booking(number=request.to)  # type: ignore[return-value]  # which is the point


async def plain_class(request: Prices) -> str:
    """Take a class that lacks its decorator."""
    return str(request)


async def sequence(numbers: Sequence[int]) -> int:
    """Take what looks like a list."""
    return sum(numbers)


async def no_schema(request: BookFlight) -> threading.Thread:
    """Return what is no JSON."""
    raise AssertionError(request)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (no_output, "its input is typed, and its output is not; annotate what it returns"),
        (
            hidden_type,
            (
                "the annotation 'OrderedDict.* of 'request' cannot be resolved; define or import "
                "the type at the top"
            ),
        ),
        (message_input, "'message' is a Message; take the context, and read ctx.message"),
        (
            wrong_stream,
            "it yields, but is annotated with .*Booking.*; annotate it with AsyncIterator",
        ),
        (
            plain_generator,
            "it yields, but is annotated with .*Booking.*; annotate it with Iterator",
        ),
        (
            no_chunks,
            (
                r"annotated with .*AsyncIterator.*, but does not yield; "
                r"yield chunks, or annotate what it returns"
            ),
        ),
        (
            plain_class,
            (
                "the annotation .*Prices.* of 'request' is neither data nor a context; make it a "
                "dataclass"
            ),
        ),
        (
            sequence,
            "the annotation .*Sequence.* of 'numbers' is neither data nor a context; .*list",
        ),
        (no_schema, "output has no JSON Schema: .*; use a Pydantic model"),
    ],
)
def test_what_has_no_contract_is_refused_when_it_is_declared(
    function: Callable[..., object], error: str
) -> None:
    """The error names the skill, the problem and the cure."""
    with pytest.raises(TypeError, match=f"skill 'x': {error}"):
        Agent("a").add("x", function)


def test_other_parameters_are_dependencies() -> None:
    """A parameter that is neither the context nor a dependency is refused, also behind a typed
    input.
    """
    refusing = Agent("a")
    refusing.add("x", unknown_parameter)
    with pytest.raises(
        ValueError, match=r"parameter 'database' is not a dependency; declare it with agent.provide"
    ):
        create_app(refusing)


def test_types_of_answers_need_a_typed_input() -> None:
    """An untyped handler asks with a schema, so types would say nothing."""
    with pytest.raises(
        TypeError, match="asks: types of answers need a typed input; annotate it, or use asks=True"
    ):
        Agent("a").add("x", lambda ctx: ctx.text, asks=[Approval])


async def test_contexts_stay_untyped() -> None:
    """A first parameter without a type of data is the context, as ever."""
    untyped = Agent("a")

    async def loose(ctx: Any) -> str:  # noqa: ANN401 - as some write it
        return str(ctx.text)

    untyped.add("loose", loose)
    untyped.add("own", lambda ctx: ctx.text)
    assert [each.contract for each in untyped.skills.values()] == [None, None]

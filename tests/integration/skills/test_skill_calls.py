"""The ways to call a typed skill, and what each of them says to input that does not fit."""

from __future__ import annotations

from hashlib import sha256

import httpx
import pytest
from integration.skills.conftest import URL

from a2a_contract.base import JsonObject
from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.errors import InvalidParamsError
from a2a_contract.extension_table import SKILL_SCHEMAS
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Part, Role, Task
from a2a_runtime.client import HTTP_JSON, JSONRPC, A2AClient, ClientOptions, Pin

pytestmark = pytest.mark.anyio

SPOKEN = [
    Pin(dialect, transport)
    for dialect in (V1_0.name, V0_3.name)
    for transport in (JSONRPC, HTTP_JSON)
]
NAMES = [f"{pin.dialect}-{pin.transport}" for pin in SPOKEN]
WRONG: JsonObject = {"text": 5, "sentences": 99, "words": 1}


def call_skill(part: Part, skill: str = "summarize") -> Message:
    """Call a skill by its name."""
    return Message(message_id="m-1", role=Role.USER, parts=[part], metadata={"skillId": skill})


@pytest.mark.parametrize("pin", SPOKEN, ids=NAMES)
@pytest.mark.parametrize(
    "part",
    [Part(data={"text": "One. Two."}), Part(text='{"text": "One. Two."}')],
    ids=["data", "json in a text"],
)
async def test_input_comes_as_data_or_as_json_in_a_text(
    transport: httpx.AsyncBaseTransport, pin: Pin, part: Part
) -> None:
    """Every dialect and binding takes both, and the output is data."""
    async with A2AClient(URL, transport=transport, options=ClientOptions(pin=pin)) as client:
        task = await client.send(call_skill(part))
        assert isinstance(task, Task)
        assert task.status.state == State.COMPLETED
        assert [part.data for part in (task.artifacts or [])[0].parts] == [
            {"text": "One. Two.", "sentences": 2}
        ]


@pytest.mark.parametrize("pin", SPOKEN, ids=NAMES)
async def test_invalid_input_lists_field_errors(
    transport: httpx.AsyncBaseTransport, pin: Pin
) -> None:
    """Invalid input is refused before there is a task, with all of its field errors."""
    async with A2AClient(URL, transport=transport, options=ClientOptions(pin=pin)) as client:
        with pytest.raises(InvalidParamsError) as refused:
            await client.send(call_skill(Part(data=WRONG)))
        places = {place for place, _ in refused.value.fields}
        assert places == {
            f"message.parts[0].data.{name}" for name in ("text", "sentences", "words")
        }


@pytest.mark.parametrize(
    "part",
    [Part(text="no JSON"), Part(raw=b"x"), Part(text="[1]")],
    ids=["words", "file", "another type"],
)
async def test_a_message_without_input_is_refused(
    transport: httpx.AsyncBaseTransport, part: Part
) -> None:
    """The skill takes JSON, which the message does not have."""
    async with A2AClient(URL, transport=transport) as client:
        with pytest.raises(InvalidParamsError) as refused:
            await client.send(call_skill(part))
        assert refused.value.fields


async def test_a_skill_is_a_plain_post(http: httpx.AsyncClient) -> None:
    """The input is posted, the output answered, the chunks of a stream as one array."""
    answer = await http.post("/skills/summarize", json={"text": "One. Two.", "sentences": 1})
    assert (answer.status_code, answer.json()) == (200, {"text": "One.", "sentences": 2})
    chunks = await http.post("/skills/write-report", json={"topic": "tea", "chapters": 2})
    assert [each["title"] for each in chunks.json()] == ["tea, part 1", "tea, part 2"]


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("/skills/summarize", b'{"text": 5}', 400),
        ("/skills/summarize", b"{", 400),
        ("/skills/nothing", b"{}", 404),
        ("/schemas/summarize/nothing.json", None, 404),
        ("/skills/summarize", None, 405),
    ],
    ids=["wrong input", "no json", "no skill", "no schema", "no post"],
)
async def test_a_plain_call_is_refused_in_the_shape_of_the_protocol(
    http: httpx.AsyncClient, path: str, content: bytes | None, status: int
) -> None:
    """Errors of a plain call have the form of the protocol."""
    answer = await (http.get(path) if content is None else http.post(path, content=content))
    assert (answer.status_code, "error" in answer.json()) == (status, True)


async def test_questions_are_answered_by_the_same_call(http: httpx.AsyncClient) -> None:
    """A skill that asks answers 202 with the question; a wrong answer leaves it open, a right one
    is answered with the output.
    """
    suspended = await http.post(
        "/skills/publish", json={"title": "Tea", "chapters": [{"title": "a", "text": "b"}]}
    )
    assert suspended.status_code == 202
    assert suspended.json()["question"]["schema"]["required"] == ["approved", "by"]
    path = f"/skills/publish?taskId={suspended.json()['taskId']}"
    assert (await http.post(path, json={"approved": False, "by": "Ada"})).status_code == 400
    answer = await http.post(path, json={"approved": True, "by": "Ada"})
    assert (answer.status_code, answer.json()["approvedBy"]) == (200, "Ada")


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_cards_name_the_schemas(http: httpx.AsyncClient, version: str) -> None:
    """The card of either version has the id, hash and URL of every schema, and the URL serves what
    the hash is of.
    """
    card = (await http.get("/.well-known/agent-card.json", headers={"A2A-Version": version})).json()
    (extension,) = [
        each for each in card["capabilities"]["extensions"] if each["uri"] == SKILL_SCHEMAS.uri
    ]
    assert list(extension["params"]["skills"]) == ["summarize", "write-report", "publish"]
    for facts in extension["params"]["skills"].values():
        for use in ("input", "output"):
            served = await http.get(facts[use]["url"])
            assert sha256(served.content).hexdigest() == facts[use]["sha256"]
            assert served.json()["$id"] == facts[use]["id"]

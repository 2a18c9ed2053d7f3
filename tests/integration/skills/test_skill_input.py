"""Questions with typed replies: refused while the task stays open, and there after a restart."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from integration.skills.conftest import REPORT, URL
from report_agent.contract import Approval, ReportAgentClient, make_surfaces
from report_agent.handlers import ReportAgent

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.errors import InvalidParamsError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Part, Role, Task
from a2a_runtime.app import create_app
from a2a_runtime.client import A2AClient, ClientOptions, Pin
from a2a_runtime.client.typed import InputRequiredError, PendingQuestion, RejectedError
from a2a_runtime.client.typed.results import parse_question
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app

pytestmark = pytest.mark.anyio

PUBLISH = Message(
    message_id="m-1",
    role=Role.USER,
    parts=[Part(data={"title": "Tea", "chapters": [{"title": "a", "text": "b"}]})],
    metadata={"skillId": "publish"},
)


@pytest.mark.parametrize("dialect", [V1_0.name, V0_3.name])
async def test_wrong_answers_leave_the_task_open(
    transport: httpx.AsyncBaseTransport, dialect: str
) -> None:
    """An answer that does not fit is refused with its places, what models cannot say included; the
    right one goes on.
    """
    async with A2AClient(
        URL, transport=transport, options=ClientOptions(pin=Pin(dialect))
    ) as client:
        task = await client.send(PUBLISH)
        assert isinstance(task, Task)
        for wrong, place in (
            ({"approved": 1, "by": "Ada"}, "approved"),
            ({"approved": False, "by": "Ada"}, "remark"),
        ):
            with pytest.raises(InvalidParamsError) as refused:
                await client.send(wrong, task=task)
            assert [each for each, _ in refused.value.fields] == [f"message.parts[0].data.{place}"]
            assert (await client.get(task)).status.state == State.INPUT_REQUIRED
        done = await client.send('{"approved": true, "by": "Ada"}', task=task)
        assert isinstance(done, Task)
        assert done.status.state == State.COMPLETED


async def test_a_question_survives_a_restart(tmp_path: Path) -> None:
    """The agent is stopped after it has asked; the next one checks the answer by the same schema,
    and goes on.
    """
    store = f"sqlite:///{tmp_path / 'tasks.db'}"
    async with (
        run_app(
            create_app(*make_surfaces(ReportAgent()), store=store, settings=FAST_SETTINGS)
        ) as transport,
        A2AClient(URL, transport=transport) as client,
    ):
        task = await client.send(PUBLISH)
        assert isinstance(task, Task)
    async with (
        run_app(
            create_app(*make_surfaces(ReportAgent()), store=store, settings=FAST_SETTINGS)
        ) as transport,
        A2AClient(URL, transport=transport) as client,
    ):
        assert parse_question(await client.get(task)).schema is not None
        with pytest.raises(InvalidParamsError):
            await client.send({"approved": "yes"}, task=task)
        done = await client.send({"approved": True, "by": "Ada"}, task=task)
        assert isinstance(done, Task)
        assert done.status.state == State.COMPLETED


async def test_a_callback_gets_the_question(transport: httpx.AsyncBaseTransport) -> None:
    """The callback gets the text, the data and the schema; its reply may be a model or JSON."""
    questions: list[PendingQuestion] = []

    async def approve(question: PendingQuestion) -> object:
        questions.append(question)
        return {"approved": True, "by": "Ada"}

    async with ReportAgentClient(URL, transport=transport) as client:
        assert (await client.publish(REPORT, on_ask=approve)).approved_by == "Ada"
        assert (questions[0].text, questions[0].detail) == (
            "May “Tea” be published?",
            {"chapters": 1},
        )
        with pytest.raises(RejectedError, match="Ada has not approved: no"):
            await client.publish(
                REPORT, on_ask=lambda _: Approval(approved=False, by="Ada", remark="no")
            )


async def test_a_dictionary_is_checked_as_the_model_is(transport: httpx.AsyncBaseTransport) -> None:
    """Its keys are the names in the JSON; what does not match is refused before it is sent, with
    its place.
    """
    async with ReportAgentClient(URL, transport=transport) as client:
        assert (
            await client.publish(
                REPORT.model_dump(by_alias=True), on_ask=lambda _: Approval(approved=True, by="Ada")
            )
        ).approved_by == "Ada"
        with pytest.raises(InvalidParamsError) as refused:
            await client.publish({**REPORT.model_dump(by_alias=True), "title": 5})
        assert [place for place, _ in refused.value.fields] == ["title"]


async def test_a_question_that_nobody_answers(transport: httpx.AsyncBaseTransport) -> None:
    """Without a callback the call says that it was asked; with an answer that does not fit, it says
    what is wrong before it is sent.
    """
    async with ReportAgentClient(URL, transport=transport) as client:
        with pytest.raises(InputRequiredError, match="May “Tea” be published"):
            await client.publish(REPORT)
        with pytest.raises(InvalidParamsError) as refused:
            await client.publish(REPORT, on_ask=lambda _: {"approved": False, "by": "Ada"})
        assert [place for place, _ in refused.value.fields] == ["remark"]

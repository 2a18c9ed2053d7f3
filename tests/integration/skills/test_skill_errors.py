"""Errors of typed handlers, deadlines of calls, and field paths in the input."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import httpx
import pytest
from integration.skills.conftest import REPORT, URL
from report_agent.contract import (
    Approval,
    Chapter,
    ReportAgentClient,
    ReportRequest,
    Summary,
    SummaryRequest,
    make_surfaces,
    skills,
)
from report_agent.handlers import ReportAgent

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.errors import InvalidParamsError
from a2a_contract.lifecycle import State
from a2a_runtime.app import create_app
from a2a_runtime.client import ClientOptions, Pin
from a2a_runtime.client.typed import DeadlineError, PendingQuestion, RejectedError
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.schema import TypedSchema
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app

pytestmark = pytest.mark.anyio
WRONG = (("text", "is rude"), ("sentences", "are too many for it"))


class Choosy(ReportAgent):
    """Knows more than its schemas say, and takes its time."""

    async def summarize(self, request: SummaryRequest, ctx: SkillContext) -> Summary:
        """Refuse whatever comes."""
        assert request.text
        ctx.reject(fields=WRONG)

    async def write_report(
        self, request: ReportRequest, ctx: SkillContext
    ) -> AsyncIterator[Chapter]:
        """Write one chapter, and then think."""
        await ctx.progress(0.5)
        yield Chapter(title=request.topic, text="")
        await asyncio.sleep(60)


@pytest.fixture
async def choosy() -> AsyncGenerator[httpx.AsyncBaseTransport, None]:
    """A way to the agent."""
    async with run_app(create_app(*make_surfaces(Choosy()), settings=FAST_SETTINGS)) as transport:
        yield transport


@pytest.mark.parametrize("dialect", [V1_0.name, V0_3.name])
async def test_a_refusal_names_its_places(choosy: httpx.AsyncBaseTransport, dialect: str) -> None:
    """The task is rejected, and callers get every place, in every dialect."""
    async with ReportAgentClient(
        URL, transport=choosy, options=ClientOptions(pin=Pin(dialect))
    ) as client:
        with pytest.raises(RejectedError, match="text: is rude") as refused:
            await client.summarize(SummaryRequest(text="x"))
        assert refused.value.fields == WRONG
        assert refused.value.task is not None
        assert refused.value.task.status.state == State.REJECTED


async def test_over_plain_http_it_is_an_error_of_the_input(
    choosy: httpx.AsyncBaseTransport,
) -> None:
    """It looks like any other input that is refused."""
    async with httpx.AsyncClient(base_url=URL, transport=choosy) as http:
        answer = await http.post("/skills/summarize", json={"text": "x"})
    assert answer.status_code == 400
    places = [
        each["fieldViolations"]
        for each in answer.json()["error"]["details"]
        if "fieldViolations" in each
    ]
    assert places == [[{"field": place, "description": text} for place, text in WRONG]]


async def test_a_refusal_without_places_has_none(transport: httpx.AsyncBaseTransport) -> None:
    """A rejection for another reason has no field errors."""
    async with ReportAgentClient(URL, transport=transport) as client:
        with pytest.raises(RejectedError) as refused:
            await client.publish(
                REPORT, on_ask=lambda _: Approval(approved=False, by="Ada", remark="too short")
            )
    assert refused.value.fields == ()


async def test_places_are_those_of_the_input(transport: httpx.AsyncBaseTransport) -> None:
    """Field errors of the handler have paths in the input, like those of the client's
    validation.
    """
    unchecked = SkillContract(
        skills.SUMMARIZE.id, TypedSchema[object](object, {}), skills.SUMMARIZE.output
    )
    async with ReportAgentClient(URL, transport=transport) as client:
        with pytest.raises(InvalidParamsError) as refused:
            await client._call(unchecked, {"text": ""}, {})
    assert [place for place, _ in refused.value.fields] == ["text"]


async def test_a_call_ends_with_its_deadline(choosy: httpx.AsyncBaseTransport) -> None:
    """The chunks in time are yielded; then the call fails and the task is canceled."""
    async with ReportAgentClient(URL, transport=choosy) as client:
        chapters = client.write_report(ReportRequest(topic="tea"), timeout=1)
        assert (await anext(chapters)).title == "tea"
        with pytest.raises(DeadlineError, match="longer than 1 s"):
            await anext(chapters)
        assert [task.status.state async for task in client.untyped.list()] == [State.CANCELED]


async def test_time_for_answers_counts(transport: httpx.AsyncBaseTransport) -> None:
    """A question that takes too long to answer ends the call; an answer's own error stays what it
    is.
    """

    async def slow(_: PendingQuestion) -> object:
        await asyncio.sleep(60)
        return None

    async def impatient(_: PendingQuestion) -> object:
        raise TimeoutError("of another schema")

    async with ReportAgentClient(URL, transport=transport) as client:
        with pytest.raises(DeadlineError):
            await client.publish(REPORT, on_ask=slow, timeout=0.5)
        with pytest.raises(TimeoutError, match="of another schema"):
            await client.publish(REPORT, on_ask=impatient, timeout=50)


async def test_a_deadline_that_is_kept_changes_nothing(transport: httpx.AsyncBaseTransport) -> None:
    """Calls that are done in time give what they give."""
    async with ReportAgentClient(URL, transport=transport) as client:
        assert (await client.summarize(SummaryRequest(text="One. Two."), timeout=30)).sentences == 2
        assert (
            len(
                [
                    each
                    async for each in client.write_report(
                        ReportRequest(topic="tea", chapters=2), timeout=30
                    )
                ]
            )
            == 2
        )

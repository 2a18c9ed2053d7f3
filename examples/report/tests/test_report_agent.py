"""The agent as its callers see it: over the protocol, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from a2a_contract.errors import InvalidParamsError
from a2a_runtime.app import create_app
from a2a_runtime.client.typed import Progress, RejectedError
from a2a_runtime.testing.asgi_transport import run_app

from report_agent.contract import Approval, Chapter, Report, ReportAgentClient, ReportRequest, SummaryRequest, make_surfaces
from report_agent.handlers import ReportAgent

REPORT = Report(title="Tea", chapters=[Chapter(title="Leaves", text="They are green.")])


def run(test: Callable[[ReportAgentClient], Awaitable[None]]) -> None:
    """Start the agent, and give a test its client."""

    async def within() -> None:
        async with run_app(create_app(*make_surfaces(ReportAgent()))) as transport, ReportAgentClient("http://agent", transport=transport) as client:
            await test(client)

    asyncio.run(within())


def test_a_text_is_summed_up() -> None:
    """The summary has as many sentences as were asked for."""

    async def test(client: ReportAgentClient) -> None:
        summary = await client.summarize(SummaryRequest(text="One. Two. Three.", sentences=2))
        assert (summary.text, summary.sentences) == ("One. Two.", 3)

    run(test)


def test_chapters_come_one_by_one() -> None:
    """Each chapter is there as soon as it is written, and progress is heard of."""

    async def test(client: ReportAgentClient) -> None:
        heard: list[Progress] = []
        request = ReportRequest(topic="tea", chapters=2)
        titles = [chapter.title async for chapter in client.write_report(request, on_progress=heard.append)]
        assert titles == ["tea, part 1", "tea, part 2"]
        assert [each.fraction for each in heard] == [0.0, 0.5]

    run(test)


def test_what_does_not_fit_is_refused() -> None:
    """Input that the schema does not allow names the place."""

    async def test(client: ReportAgentClient) -> None:
        with pytest.raises(InvalidParamsError) as refused:
            await client.summarize(SummaryRequest(text="", sentences=2))
        assert [place for place, _ in refused.value.fields] == ["text"]

    run(test)


def test_approved_reports_are_published() -> None:
    """The agent asks, and goes on with the answer."""

    async def test(client: ReportAgentClient) -> None:
        publication = await client.publish(REPORT, on_ask=lambda _: Approval(approved=True, by="Ada"))
        assert (publication.title, publication.approved_by) == ("Tea", "Ada")

    run(test)


def test_other_reports_are_not() -> None:
    """Who does not approve says why, and nothing is published."""

    async def test(client: ReportAgentClient) -> None:
        with pytest.raises(RejectedError, match="too short"):
            await client.publish(REPORT, on_ask=lambda _: Approval(approved=False, by="Ada", remark="too short"))

    run(test)

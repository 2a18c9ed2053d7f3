"""Results of typed methods, and results that break the agent's own schema."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx
import pytest
from integration.skills.conftest import REPORT, URL
from report_agent.contract import (
    Chapter,
    Publication,
    Report,
    ReportAgentClient,
    ReportRequest,
    Summary,
    SummaryRequest,
    make_surfaces,
)
from report_agent.handlers import ReportAgent
from typing_extensions import override

from a2a_runtime.app import create_app
from a2a_runtime.client.typed import FailedError, Progress
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.asgi_transport import run_app

pytestmark = pytest.mark.anyio


class Careless(ReportAgent):
    """An agent that does not keep its promises."""

    def __init__(self) -> None:
        self.canceled = asyncio.Event()

    @override
    async def summarize(self, request: SummaryRequest, ctx: SkillContext) -> Summary:
        """Give a summary that its schema does not allow."""
        return Summary(text=request.text, sentences=-1)

    @override
    async def write_report(
        self, request: ReportRequest, ctx: SkillContext
    ) -> AsyncIterator[Chapter]:
        """Give a chapter that is one, and one that is none; for one topic, never end."""
        yield Chapter(title="a", text="b")
        try:
            await asyncio.sleep(30 if request.topic == "forever" else 0)
        except asyncio.CancelledError:
            self.canceled.set()
            raise
        yield Chapter(title="", text="b")

    @override
    async def publish(self, request: Report, ctx: SkillContext) -> Publication:
        """Give something else altogether."""
        # A service that no type checker has read may return this.
        return request  # type: ignore[return-value]


@pytest.mark.parametrize("skill", ["summarize", "publish"])
async def test_wrong_output_is_a_failed_task(caplog: pytest.LogCaptureFixture, skill: str) -> None:
    """The caller gets a failed task with a fixed text; the log says which skill, which place, and
    what is wrong there.
    """
    async with (
        run_app(create_app(*make_surfaces(Careless()), settings=FAST_SETTINGS)) as transport,
        ReportAgentClient(URL, transport=transport) as client,
    ):
        with caplog.at_level(logging.ERROR), pytest.raises(FailedError, match="failed to do this"):
            await (
                client.summarize(SummaryRequest(text="a"))
                if skill == "summarize"
                else client.publish(REPORT)
            )
    (record,) = [each for each in caplog.records if "does not match" in each.getMessage()]
    assert skill in record.getMessage()
    assert ("sentences" if skill == "summarize" else "approvedBy") in record.getMessage()


async def test_a_wrong_chunk_ends_the_stream() -> None:
    """Chunks before the wrong one have been given; then the task fails."""
    got: list[Chapter] = []
    async with (
        run_app(create_app(*make_surfaces(Careless()), settings=FAST_SETTINGS)) as transport,
        ReportAgentClient(URL, transport=transport) as client,
    ):
        with pytest.raises(FailedError):
            got.extend(
                [chapter async for chapter in client.write_report(ReportRequest(topic="tea"))]
            )
        async with aclosing(client.write_report(ReportRequest(topic="tea"))) as chapters:
            assert await anext(chapters) == Chapter(title="a", text="b")


async def test_closing_a_stream_cancels_its_task() -> None:
    """A reader that closes its stream stops the handler."""
    service = Careless()
    async with (
        run_app(create_app(*make_surfaces(service), settings=FAST_SETTINGS)) as transport,
        ReportAgentClient(URL, transport=transport) as client,
    ):
        async with aclosing(client.write_report(ReportRequest(topic="forever"))) as chapters:
            await anext(chapters)
        await asyncio.wait_for(service.canceled.wait(), 5)


async def test_progress_is_reported(transport: httpx.AsyncBaseTransport) -> None:
    """A callback gets the fraction and the text of each update, in order."""
    updates: list[Progress] = []
    async with ReportAgentClient(URL, transport=transport) as client:
        chapters = [
            chapter
            async for chapter in client.write_report(
                ReportRequest(topic="tea", chapters=2), on_progress=updates.append
            )
        ]
    assert len(chapters) == 2
    assert updates == [
        Progress(0.0, "Writing chapter 1 of 2"),
        Progress(0.5, "Writing chapter 2 of 2"),
    ]

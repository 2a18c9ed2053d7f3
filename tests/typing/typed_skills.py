"""Types of a service and a client that are generated from schemas.

Never run: `make check` reads it with mypy and basedpyright.

The types are those of examples/report. A line that must be refused says so; an ignore that nothing
needs is an error of its own.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from datetime import datetime
from typing import Literal, assert_type

from report_agent import contract
from report_agent.contract import (
    Approval,
    Chapter,
    Publication,
    Report,
    ReportAgentClient,
    ReportAgentService,
    ReportRequest,
    Summary,
    SummaryRequest,
    make_agent,
    make_surfaces,
    skills,
)
from typing_extensions import override

import a2a_contract
from a2a_runtime.agent import Agent
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.schema import TypedSchema
from a2a_runtime.surface import Surface


def models_have_the_types_of_their_schemas(
    request: ReportRequest, publication: Publication, approval: Approval
) -> None:
    """Defaults, words, points in time and members that may be absent."""
    assert_type(request.chapters, int)
    assert_type(request.tone, Literal["plain", "lively"])
    assert_type(publication.published, datetime)
    assert_type(publication.approved_by, str)
    assert_type(approval.remark, str | None)
    ReportRequest(topic="tea", tone="sad")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ReportRequest()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def a_package_has_only_its_names() -> None:
    """A type that is gone, or misspelled, is found by checkers, although names are loaded late."""
    contract.Aproval  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018
    a2a_contract.Nonsense  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018


def skills_have_types() -> None:
    """The table of skills knows what each takes and gives."""
    assert_type(skills.SUMMARIZE, SkillContract[SummaryRequest, Summary])
    assert_type(skills.WRITE_REPORT, SkillContract[ReportRequest, Chapter])


class Service(ReportAgentService):
    """A service that follows its schemas."""

    @override
    async def summarize(self, request: SummaryRequest, ctx: SkillContext) -> Summary:
        """Take and give what the schemas say."""
        assert_type(request.sentences, int)
        return Summary(text=request.text, sentences=1)

    @override
    async def write_report(
        self, request: ReportRequest, ctx: SkillContext
    ) -> AsyncIterator[Chapter]:
        """Yield chunks."""
        yield Chapter(title=request.topic, text="")

    @override
    async def publish(self, request: Report, ctx: SkillContext) -> Publication:
        """Ask for a type, and get it."""
        assert_type(await ctx.ask("May it?", reply=Approval), Approval)
        assert_type(await ctx.ask("May it?", reply=skills.PUBLISH_ASKS_APPROVAL), Approval)
        assert_type(
            await ctx.ask(
                "Which?", reply=TypedSchema[Literal["yes", "no"]](str, {"enum": ["yes", "no"]})
            ),
            Literal["yes", "no"],
        )
        raise NotImplementedError


class Stale(ReportAgentService):
    """A service that was written for other schemas."""

    @override
    async def summarize(self, request: ReportRequest, ctx: SkillContext) -> Summary:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take what another skill takes."""
        return Summary(text=request.topic, sentences="one")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def services_are_mounted() -> None:
    """A whole service makes an agent; one that lacks a method is no service."""
    assert_type(make_agent(Service()), Agent)
    assert_type(make_surfaces(Service()), tuple[Surface, ...])
    Stale()  # type: ignore[abstract]  # pyright: ignore[reportAbstractUsage]


async def clients_have_types(client: ReportAgentClient) -> None:
    """A call gives the output of its skill, and takes its input only."""
    assert_type(await client.summarize(SummaryRequest(text="a")), Summary)
    assert_type(client.write_report(ReportRequest(topic="a")), AsyncGenerator[Chapter, None])
    assert_type(
        await client.publish(Report(title="a", chapters=[]), on_ask=lambda question: question.text),
        Publication,
    )
    await client.summarize(ReportRequest(topic="a"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await client.summarize(SummaryRequest(text="a"), on_progress=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

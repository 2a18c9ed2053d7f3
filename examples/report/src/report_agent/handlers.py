"""What the agent does: one method for each skill of a2a.toml, with the types of its schemas."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from a2a_runtime.skills.context import Question, SkillContext

from report_agent.contract import Approval, Chapter, Publication, Report, ReportAgentService, ReportRequest, Summary, SummaryRequest


class ReportAgent(ReportAgentService):
    """Does the work. Where this plays, a real agent asks a model."""

    async def summarize(self, request: SummaryRequest, ctx: SkillContext) -> Summary:
        """Keep the first sentences."""
        sentences = re.findall(r"[^.!?]+[.!?]?\s*", request.text)
        return Summary(text="".join(sentences[: request.sentences]).strip(), sentences=len(sentences))

    async def write_report(self, request: ReportRequest, ctx: SkillContext) -> AsyncIterator[Chapter]:
        """Write one chapter after the other."""
        end = "!" if request.tone == "lively" else "."
        for number in range(1, request.chapters + 1):
            await ctx.progress((number - 1) / request.chapters, f"Writing chapter {number} of {request.chapters}")
            await asyncio.sleep(0.05)
            yield Chapter(title=f"{request.topic}, part {number}", text=f"All about {request.topic}{end}")

    async def publish(self, request: Report, ctx: SkillContext) -> Publication:
        """Ask, and wait for the answer as long as it takes: this method runs again from the top
        when it comes, also in another process.
        """
        question = Question(f"May “{request.title}” be published?", {"chapters": len(request.chapters)})
        approval = await ctx.ask(question, reply=Approval)
        if not approval.approved:
            ctx.reject(f"{approval.by} has not approved: {approval.remark}")
        return Publication(title=request.title, published=datetime.now(UTC), approved_by=approval.by)

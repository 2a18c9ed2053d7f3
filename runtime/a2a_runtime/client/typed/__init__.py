"""Typed client: base class of generated clients, on top of ``a2a_runtime.client``.

    async with ReportAgentClient("https://agent.example.com") as client:
        report = await client.generate_report(ReportRequest(topic="coffee"), on_ask=approve)
        async for chapter in client.write_chapters(ReportRequest(topic="tea")):
            print(chapter.title)

Canceling a call, or closing an iteration, cancels the task. Input is checked before it is sent,
output when it arrives.
"""

from a2a_runtime.base.importing import explain_missing

with explain_missing(__name__):
    from a2a_runtime.client.typed.client import SkillClient
    from a2a_runtime.client.typed.conversation import CallOptions, Progress

from a2a_runtime.client.typed.errors import (
    CanceledError,
    DeadlineError,
    FailedError,
    InputRequiredError,
    OutputError,
    RejectedError,
    SkillError,
)
from a2a_runtime.client.typed.results import PendingQuestion

__all__ = [
    "CallOptions",
    "CanceledError",
    "DeadlineError",
    "FailedError",
    "InputRequiredError",
    "OutputError",
    "PendingQuestion",
    "Progress",
    "RejectedError",
    "SkillClient",
    "SkillError",
]

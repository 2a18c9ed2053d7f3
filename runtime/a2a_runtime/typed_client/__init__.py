"""The base of generated clients: a call of a skill in types, on top of ``a2a_runtime.client``.

    async with ReportAgentClient("https://agent.example.com") as client:
        report = await client.generate_report(ReportRequest(topic="coffee"), on_ask=approve)
        async for chapter in client.write_chapters(ReportRequest(topic="tea")):
            print(chapter.title)

A call that is canceled, and an iteration that is closed, cancel the task. What goes out is checked before it is sent, what comes in when it arrives.
"""

from a2a_runtime.typed_client.client import CallOptions, Progress, SkillClient
from a2a_runtime.typed_client.errors import CanceledError, DeadlineError, FailedError, InputRequiredError, OutputError, RejectedError, SkillError
from a2a_runtime.typed_client.results import PendingQuestion

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

"""Options of commands that send a message, and the message itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from a2a_contract.errors import A2AError
from a2a_contract.v1_0 import Message, Part
from a2a_runtime.client import A2AClient, A2AClientError, build_message
from a2a_runtime.commands.terminal.content import build_parts
from a2a_runtime.commands.terminal.questions import Answers
from a2a_runtime.commands.terminal.report import check_folder, show_progress
from a2a_runtime.commands.terminal.target import Target, target_options
from a2a_runtime.commands.terminal.text import to_safe_line
from a2a_runtime.commands.usage_errors import CommandUsageError
from a2a_runtime.typed_client.client import build_skill_metadata
from a2a_runtime.typed_client.conversation import CallOptions

_OPTIONS = (
    click.argument("words", nargs=-1, metavar="SKILL [TEXT]..."),
    click.option("--auto", "is_auto", is_flag=True, help="Name no skill: the agent chooses, and all words are the text."),
    click.option("--data", metavar="JSON", help="JSON for the skill; @FILE, or - for standard input."),
    click.option("--file", "files", multiple=True, metavar="PATH|URL", help="File to send, or a URL that the agent fetches; repeatable."),
    click.option("--task", "task_id", help="Continue this task: all words are the answer to its question."),
    click.option("--context", "context_id", help="Continue this conversation."),
    click.option("--answer", "answers", multiple=True, help="Answer to a question of the agent, in their order; repeatable."),
    click.option("--output", type=click.Path(path_type=Path), metavar="FOLDER", help="Folder for files of the result."),
    click.option("--json", "as_json", is_flag=True, help="Print the JSON of the protocol (1.0), whatever the agent speaks."),
)


@dataclass(frozen=True, slots=True)
class Order:
    """A message to an agent, and what to do with its result."""

    target: Target
    skill: str | None
    parts: list[Part]
    task_id: str | None
    context_id: str | None
    answers: Answers
    output: Path | None
    as_json: bool

    async def build_message(self, client: A2AClient) -> Message:
        """Build the message, and check its skill against the card."""
        message = Message(parts=self.parts)
        if self.skill is not None:
            await self._check_skill(client, self.skill)
            message = message.model_copy(update={"metadata": build_skill_metadata(self.skill)})
        task = await client.get(self.task_id) if self.task_id else None
        return build_message(message, task, self.context_id)

    def build_options(self) -> CallOptions:
        """Build the options of the conversation."""
        options: CallOptions = {"on_ask": self.answers, "on_progress": show_progress}
        if self.target.timeout is not None:
            options["timeout"] = self.target.timeout
        return options

    async def _check_skill(self, client: A2AClient, skill: str) -> None:
        if not self.target.has_card:
            return
        card = await client.get_card()
        known = [each.id for each in card.skills]
        if known and skill not in known and card.capabilities.extended_agent_card:
            with suppress(A2AError, A2AClientError):  # other credentials may be needed for it than for a call
                known = [each.id for each in (await client.get_extended_card()).skills]
        if known and skill not in known:
            listed = ", ".join(map(to_safe_line, known))
            raise CommandUsageError(f"SKILL: {skill!r} is not on the card, which has {listed}; name one of them, or pass --auto and the text")


def order_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a message, and pass it as ``order``."""

    @wraps(function)
    def build(target: Target, words: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401 - values of click
        names = ("is_auto", "data", "files", "task_id", "context_id", "answers", "output", "as_json")
        function(order=_build_order(target, words, **{name: options.pop(name) for name in names}), **options)

    decorated: Callable[..., None] = build
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return target_options(decorated)


def _build_order(target: Target, words: tuple[str, ...], *, is_auto: bool, task_id: str | None, **options: Any) -> Order:  # noqa: ANN401 - of click
    check_folder(options["output"])
    skill, text = (None, words) if is_auto or task_id else (words[0] if words else "", words[1:])
    if skill == "":
        raise CommandUsageError("SKILL: not given; name a skill of the card (a2a-gen card show URL lists them), or pass --auto and the text")
    parts = build_parts(text, options["data"], options["files"])
    answers = Answers(target.url, options["answers"])
    return Order(target, skill, parts, task_id, options["context_id"], answers, options["output"], options["as_json"])

"""Options of commands that send a message, and the message itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import Any

import click

from a2a_contract.errors import A2AError
from a2a_contract.v1_0 import Message, Part
from a2a_runtime.cli.terminal.content import build_attachments, build_parts
from a2a_runtime.cli.terminal.questions import Answers
from a2a_runtime.cli.terminal.report import check_folder, show_progress
from a2a_runtime.cli.terminal.target import Target, target_options
from a2a_runtime.cli.terminal.text import to_safe_line
from a2a_runtime.cli.usage_errors import CommandUsageError
from a2a_runtime.client import A2AClient, A2AClientError, build_message
from a2a_runtime.client.typed.client import build_skill_metadata
from a2a_runtime.client.typed.conversation import CallOptions

_SIMILARITY = 0.8
_OPTIONS = (
    click.argument("words", nargs=-1, metavar="[SKILL] [TEXT]..."),
    click.option(
        "--auto",
        "is_auto",
        is_flag=True,
        help="Name no skill: the agent chooses, and all words are the text.",
    ),
    click.option(
        "--data", metavar="JSON", help="JSON for the skill; @FILE, or - for standard input."
    ),
    click.option(
        "--file",
        "files",
        multiple=True,
        metavar="PATH|URL",
        help="File to send, or a URL that the agent fetches; repeatable.",
    ),
    click.option(
        "--task", "task_id", help="Continue this task: all words are the answer to its question."
    ),
    click.option("--context", "context_id", help="Continue this conversation."),
    click.option(
        "--answer",
        "answers",
        multiple=True,
        help="Answer to a question of the agent, in their order; repeatable.",
    ),
    click.option(
        "--output",
        type=click.Path(path_type=Path),
        metavar="FOLDER",
        help="Folder for files of the result.",
    ),
    click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="Print the JSON of the protocol (1.0), whatever the agent speaks.",
    ),
)


@dataclass(frozen=True, slots=True)
class Order:
    """A message to an agent, and what to do with its result."""

    target: Target
    words: tuple[str, ...]
    names_skill: bool
    attachments: list[Part]
    task_id: str | None
    context_id: str | None
    answers: Answers
    output: Path | None
    as_json: bool

    async def build_message(self, client: A2AClient) -> Message:
        """Build the message, and check its skill against the card."""
        skill = None
        words = self.words
        if self.names_skill:
            skill, words = await self._choose_skill(client)
        message = Message(parts=build_parts(words, self.attachments))
        if skill is not None:
            message = message.model_copy(update={"metadata": build_skill_metadata(skill)})
        task = await client.get(self.task_id) if self.task_id else None
        return build_message(message, task, self.context_id)

    def build_options(self) -> CallOptions:
        """Build the options of the conversation."""
        options: CallOptions = {"on_ask": self.answers, "on_progress": show_progress}
        if self.target.timeout is not None:
            options["timeout"] = self.target.timeout
        return options

    async def _choose_skill(self, client: A2AClient) -> tuple[str, tuple[str, ...]]:
        """Choose the skill: the first word, or the only one of the card, of which all words are the
        text.
        """
        first = self.words[0] if self.words else ""
        rest = self.words[1:]
        known: list[str] = []
        is_complete = False
        if self.target.has_card:
            known, is_complete = await _list_skills(client, first)
        if first in known or (first and not known):
            return first, rest
        is_only = len(known) == 1 and is_complete
        if is_only and not _looks_misspelt(first, rest, known):
            return known[0], self.words
        listed = ", ".join(map(to_safe_line, known))
        if not first:
            choice = "name a skill of the card (a2a-gen card show URL lists them)"
            if known:
                choice = f"name one of {listed}"
            raise CommandUsageError(f"SKILL: not given; {choice}, or pass --auto and the text")
        problem = f"SKILL: {first!r} is not on the card, which has {listed}"
        raise CommandUsageError(f"{problem}; name one of them, or pass --auto and the text")


async def _list_skills(client: A2AClient, wanted: str) -> tuple[list[str], bool]:
    """List the skills of the card, and whether these are all that the caller may use."""
    card = await client.get_card()
    known = [each.id for each in card.skills]
    if not known or wanted in known or not card.capabilities.extended_agent_card:
        return known, True
    try:
        extended = await client.get_extended_card()
    except (A2AError, A2AClientError):
        # it may need other credentials than a call
        return known, False
    return [each.id for each in extended.skills], True


def _looks_misspelt(word: str, rest: Sequence[str], known: Sequence[str]) -> bool:
    """Tell whether a word before others is rather meant as a skill of the card than as text."""
    return bool(rest and get_close_matches(word, known, cutoff=_SIMILARITY))


def order_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a message, and pass it as ``order``."""

    @wraps(function)
    # typed as Any: values of click
    def build(target: Target, words: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401
        names = (
            "is_auto",
            "data",
            "files",
            "task_id",
            "context_id",
            "answers",
            "output",
            "as_json",
        )
        function(
            order=_build_order(target, words, **{name: options.pop(name) for name in names}),
            **options,
        )

    decorated: Callable[..., None] = build
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return target_options(decorated)


def _build_order(
    target: Target,
    words: tuple[str, ...],
    *,
    is_auto: bool,
    task_id: str | None,
    **options: Any,  # noqa: ANN401 - of click
) -> Order:
    check_folder(options["output"])
    names_skill = not (is_auto or task_id)
    if names_skill and not words and options["data"] is None and not options["files"]:
        fix = (
            "name a skill of the card (a2a-gen card show URL lists them), or pass --auto and the "
            "text"
        )
        raise CommandUsageError(f"SKILL: not given; {fix}")
    return Order(
        target,
        words,
        names_skill,
        build_attachments(options["data"], options["files"]),
        task_id,
        options["context_id"],
        Answers(target.url, options["answers"]),
        options["output"],
        options["as_json"],
    )

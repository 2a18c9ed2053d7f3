"""Answers to questions of an agent: those of the options in their order, then from the prompt.

A question without an answer ends the command: a script learns the task, and continues it later.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import click
from pydantic_core import from_json, to_json

from a2a_runtime.cli.terminal.text import to_safe_json, to_safe_line, to_safe_text
from a2a_runtime.client.typed.errors import InputRequiredError
from a2a_runtime.client.typed.results import PendingQuestion, build_validator
from a2a_runtime.skills.schema import SchemaMismatchError, SchemaValidator

_PROMPT = "answer"


class Answers:
    """Callback that answers the questions of one command."""

    def __init__(self, url: str, given: Sequence[str]) -> None:
        self._url = url
        self._given = iter(given)

    def __call__(self, question: PendingQuestion) -> object:
        """Return the answer to a question, or raise ``InputRequiredError``."""
        validator = build_validator(question)
        given = next(self._given, None)
        if given is not None:
            return _parse_answer(given, validator)
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise InputRequiredError(
                (
                    f"{describe_question(question)}\n    fix: "
                    f"{describe_continuation(self._url, question.task.id)}"
                ),
                question.task,
            )
        return _prompt(question, validator)


def describe_question(question: PendingQuestion) -> str:
    """Describe a question as text for a terminal."""
    kind = "needs an authorization" if question.is_for_auth else "asks"
    task_id = to_safe_line(question.task.id)
    text = to_safe_text(question.text)
    lines = [f"task {task_id}: the agent {kind}: {text}".rstrip()]
    if question.detail is not None:
        lines.append(to_safe_json(to_json(question.detail, indent=2)))
    return "\n".join(lines)


def describe_continuation(url: str, task_id: str) -> str:
    """Name the command that continues a task."""
    return f"a2a-gen call {to_safe_line(url)} --task {to_safe_line(task_id)} ANSWER"


def _prompt(question: PendingQuestion, validator: SchemaValidator | None) -> object:
    """Ask until an answer matches the schema of the question."""
    click.echo(describe_question(question), err=True)
    if validator is not None and not validator.is_text:
        click.echo(f"(JSON for {to_safe_json(to_json(question.schema))})", err=True)
    while True:
        with _interruptible():
            typed = str(click.prompt(_PROMPT, err=True))
        answer = _parse_answer(typed, validator)
        try:
            if validator is not None:
                validator.check(answer)
        except SchemaMismatchError as error:
            click.echo(f"no answer to this question: {to_safe_line(str(error))}", err=True)
            continue
        return answer


def _parse_answer(text: str, validator: SchemaValidator | None) -> object:
    """Read an answer as JSON where the question wants that, else as text."""
    if validator is None or validator.is_text:
        return text
    try:
        value: object = from_json(text, allow_inf_nan=False)
    except ValueError:
        return text
    if not validator.is_valid(value) and validator.is_valid(text):
        return text
    return value


@contextmanager
def _interruptible() -> Generator[None]:
    """Let Ctrl-C end the prompt: the handler of the event loop would wait for a line."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)

"""Messages: `<subject>: <problem>; <fix>`, in the errors of programs and commands.

Errors of the protocol are sentences, because clients read them: their texts are in
`schema/errors.json`. Errors with separate arguments for problem and fix compose the pattern
themselves; here only the form of each argument is checked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from style.source_files import Source, sources

PATTERN = "<subject>: <problem>; <fix>"
WHOLE = frozenset(
    {
        "ClickException",
        "CommandError",
        "ConfigError",
        "ProjectConfigError",
        "TypeError",
        "UsageError",
        "ValueError",
    }
)
"""Errors whose one text is the whole message."""
COMPOSED = frozenset(
    {
        "BadParameter",
        "BaselineError",
        "ConfigProblem",
        "ImportFromStringError",
        "MissingParameter",
        "Problem",
        "ProjectError",
        "UrlRefusedError",
    }
)
"""Errors and problems that put a subject before their texts, or a fix behind them."""
PREFIXED = frozenset(
    {
        "codegen/a2a_gen/source/json_text.py",
        "codegen/a2a_gen/support/http.py",
        "codegen/a2a_gen/support/scalars.py",
        "runtime/a2a_runtime/features/server/protocol.py",
        "runtime/a2a_runtime/auth/tables.py",
        "runtime/a2a_runtime/features/keys/project.py",
        "runtime/a2a_runtime/features/keys/signing.py",
    }
)
"""Modules whose callers put the subject before the text of a ``ValueError`` or ``TypeError``."""
SUBJECT = re.compile(r"[^:;]{1,80}: \S|\{\}")
NARRATIVE = re.compile(
    r"\b(there (is|are)|it seems|sorry|please|oops|unfortunately|of course|nothing would)\b",
    re.IGNORECASE,
)
NOT_FOUND = "there is no "
"""A missing name behind the subject of the caller: `skills.x.handler: there is no x in
handlers`.
"""


def test_messages_have_a_subject() -> None:
    """The message of a program or a command begins with its subject and a colon."""
    found = (
        (source, call, text)
        for source, call, text in messages(WHOLE)
        if str(source) not in PREFIXED
    )
    assert [
        f"{source}:{call.lineno}: write {PATTERN!r}: {text}"
        for source, call, text in found
        if not SUBJECT.match(text)
    ] == []


def test_messages_end_without_a_period() -> None:
    """Another text may follow a message."""
    found = messages(WHOLE | COMPOSED)
    assert [
        f"{source}:{call.lineno}: end without a period: {text}"
        for source, call, text in found
        if text.rstrip().endswith((".", "!"))
    ] == []


def test_messages_state_the_problem() -> None:
    """A message has no narrative."""
    found = (
        (source, call, text)
        for source, call, text in messages(WHOLE | COMPOSED)
        if not text.startswith(NOT_FOUND)
    )
    assert [
        f"{source}:{call.lineno}: write {PATTERN!r}: {text}"
        for source, call, text in found
        if NARRATIVE.search(text)
    ] == []


def messages(names: frozenset[str]) -> Iterator[tuple[Source, ast.Call, str]]:
    """Find the texts that the product gives to some errors, with ``{}`` for each value."""
    for source in sources("codegen", "runtime"):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and name_of(node.func) in names:
                for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
                    if (text := text_of(argument)) is not None and " " in text:
                        yield source, node, text


def name_of(function: ast.expr) -> str:
    """Return the last name of a called expression."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def text_of(node: ast.expr) -> str | None:
    """Return the text of a literal."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in values
            )
        case _:
            return None

"""Exit codes and errors of the commands that talk to agents.

0     success: the task is completed, or the agent answered with a message
1     usage or configuration: an argument, a file, credentials that the card requires,
      an extra that is not installed
2     the agent cannot be reached, refuses the call, or its task failed, was rejected or canceled,
      or waits for an answer
130   interrupted
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import click

from a2a_contract.errors import A2AError, UnauthenticatedError, VersionNotSupportedError
from a2a_runtime.base.importing import to_missing_extra
from a2a_runtime.base.logs import SanitizingFormatter
from a2a_runtime.cli.terminal.text import to_safe_line, to_safe_text
from a2a_runtime.cli.usage_errors import CommandUsageError, StrictCommand
from a2a_runtime.client import (
    A2AClientError,
    MissingCredentialsError,
    NoInterfaceError,
    UntrustedOriginError,
)
from a2a_runtime.client.typed.errors import SkillError

EXIT_CODES = """\b
Exit codes: 0 completed, 1 usage or configuration, 2 the agent cannot be
reached, refuses, or its task does not complete."""

_CURES: dict[type[Exception], str] = {
    UntrustedOriginError: "pass --trust with that origin if the agent runs there",
    MissingCredentialsError: "pass --auth NAME=@FILE for a scheme of the card, or --token",
    UnauthenticatedError: "pass --token @FILE, --auth NAME=@FILE or --header @FILE",
    VersionNotSupportedError: (
        "pass --dialect; cards of mesh producers look like those of 0.3, they need --dialect mesh"
    ),
    NoInterfaceError: "pass another --dialect or --binding, or none",
}


class CallError(click.ClickException):
    """A call that failed, or a task that is not completed."""

    exit_code = 2


class AgentGroup(click.Group):
    """A group of such commands."""

    command_class = StrictCommand

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise CommandUsageError(error.format_message(), ctx) from None


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run the work of a command, and convert its errors."""
    handler = logging.StreamHandler()
    handler.setFormatter(SanitizingFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    try:
        asyncio.run(work)
    except (MissingCredentialsError, NoInterfaceError, UntrustedOriginError) as error:
        raise CommandUsageError(describe_error(error)) from error
    except (A2AError, A2AClientError, SkillError) as error:
        raise CallError(describe_error(error)) from error
    except ModuleNotFoundError as error:
        if (missing := to_missing_extra(error, "a2a-gen")) is None:
            raise
        raise CommandUsageError(str(missing)) from error


def describe_error(error: Exception) -> str:
    """Describe an error of the client or the agent: its message, its fields, and what to do."""
    fields = error.fields if isinstance(error, A2AError) else ()
    message = error.message if isinstance(error, A2AError) else str(error)
    cure = next((text for kind, text in _CURES.items() if isinstance(error, kind)), "")
    lines = [
        to_safe_text(message) or type(error).__name__,
        *(f"  {to_safe_line(path) or 'value'}: {to_safe_line(text)}" for path, text in fields),
    ]
    if cure:
        lines = [*lines, f"    fix: {cure}"]
    return "\n".join(lines)

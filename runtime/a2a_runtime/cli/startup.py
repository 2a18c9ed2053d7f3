"""Starts of ``a2a-gen serve`` that fail: the problem in one line, and an exit code.

0   stopped
1   the configuration cannot be used: an option, ``a2a.toml``, the environment, an import,
    the URL or the schema version of the store
2   the start failed, or the server crashed: the port is taken, the store cannot be opened,
    the app's own code raises
"""

from __future__ import annotations

import importlib
import os
import socket
import traceback
from itertools import dropwhile
from pathlib import Path

import click

import a2a_runtime
from a2a_runtime.base.importing import to_missing_extra
from a2a_runtime.http.start_errors import CONFIGURATION_ERRORS, describe_start_error, list_causes

_OWN_FOLDERS = tuple(str(Path(each.__file__ or "").parent) for each in (a2a_runtime, importlib))


class InvalidConfigurationError(click.ClickException):
    """A configuration that cannot be used."""

    exit_code = 1


class StartError(click.ClickException):
    """A start that failed with a valid configuration."""

    exit_code = 2


def check_port(host: str, port: int) -> None:
    """Check that a port is free, before the store is opened and tasks are taken over."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise StartError(
            f"{host}:{port}: {reason}; stop what runs there, or choose another --host or --port"
        ) from None


def report_import_error(name: str, error: Exception) -> click.ClickException:
    """Describe an exception that the import of an app has raised."""
    if isinstance(error, ModuleNotFoundError) and (missing := to_missing_extra(error, name)):
        return InvalidConfigurationError(str(missing))
    return InvalidConfigurationError(f"{name}: cannot be loaded:\n{_format_traceback(error)}")


def report_start_error(error: BaseException) -> click.ClickException:
    """Describe an exception of a start: in one line if it names the cure, otherwise with its
    traceback.
    """
    causes = list_causes(error)
    reason = describe_start_error(error)
    if reason is None:
        return StartError(
            "the app has not started:\n" + "\n".join(_format_traceback(each) for each in causes)
        )
    if all(isinstance(each, CONFIGURATION_ERRORS) for each in causes):
        return InvalidConfigurationError(reason)
    return StartError(reason)


def _is_own(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith((*_OWN_FOLDERS, "<"))


def _format_traceback(error: BaseException) -> str:
    """Format a traceback without the frames of the import system and of this package, unless the
    error is one that this package does not expect.
    """
    foreign = list(dropwhile(_is_own, traceback.extract_tb(error.__traceback__)))
    # raised on purpose: the message says what to do, and our steps to it say nothing
    if foreign and (foreign[-1].line or "").startswith("raise "):
        foreign = list(dropwhile(_is_own, reversed(foreign)))[::-1]
    return "".join(
        [*traceback.format_list(foreign), *traceback.format_exception_only(error)]
    ).rstrip()

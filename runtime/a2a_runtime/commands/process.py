"""Options of the commands that run a process of an agent: logs, environment, store; and the app that they name."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import a2a_runtime
from a2a_runtime.commands.startup import InvalidConfigurationError, report_import_error
from a2a_runtime.importing import ImportFromStringError, explain_missing, import_from_string
from a2a_runtime.logs import SanitizingFormatter, request_log, strip_query
from a2a_runtime.project.loader import ProjectConfigError
from a2a_runtime.settings import PREFIX

PROJECT_APP = "a2a_runtime.app:app"
"""App of the project in the working directory."""

_LEVELS = ("debug", "info", "warning", "error")
_FILE = click.Path(exists=True, dir_okay=False)


def _enable_request_log(_context: click.Context, _option: click.Parameter, is_enabled: bool) -> None:  # noqa: FBT001 - the signature of click
    if is_enabled:
        request_log.setLevel(logging.DEBUG)


def _configure_logging(_context: click.Context, _option: click.Parameter, level: str) -> None:
    """Log warnings, and the runtime's own records from a level, without control characters."""
    handler = logging.StreamHandler()
    handler.setFormatter(SanitizingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger(a2a_runtime.__name__).setLevel(level.upper())
    logging.getLogger("uvicorn.access").addFilter(strip_query)


def _read_env_file(_context: click.Context, _option: click.Parameter, path: str | None) -> None:
    if path is None:
        return
    with explain_missing("--env-file"):
        from dotenv import load_dotenv  # noqa: PLC0415 - comes with the extra

    load_dotenv(path)


def _override_store(_context: click.Context, _option: click.Parameter, url: str | None) -> None:
    if url is not None:
        os.environ[f"{PREFIX}STORE"] = url


_OPTIONS = (
    click.option(
        "--log-calls",
        is_flag=True,
        expose_value=False,
        callback=_enable_request_log,
        help="Log the operation of every call, and the end of every task.",
    ),
    click.option("--env-file", type=_FILE, expose_value=False, is_eager=True, callback=_read_env_file, help="File of environment variables."),
    click.option(
        "--store",
        expose_value=False,
        callback=_override_store,
        help="URL of the store, instead of A2A_STORE and a2a.toml; code may set another.",
    ),
    click.option(
        "--log-level",
        type=click.Choice(_LEVELS),
        default="info",
        show_default=True,
        expose_value=False,
        is_eager=True,
        callback=_configure_logging,
        help="Lowest level of logs.",
    ),
)


def process_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a process; they take effect by themselves."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def load_app(name: str) -> Any:  # noqa: ANN401 - any object that a command can use
    """Import an app by its name, or raise the error of a configuration that cannot be used."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        return import_from_string(name if ":" in name else f"{name}:app")
    except ImportFromStringError as error:
        raise InvalidConfigurationError(f"{error}; name an app as module:attribute, e.g. hello:app for app in hello.py") from error
    except ProjectConfigError as error:
        raise InvalidConfigurationError(str(error)) from error
    except Exception as error:  # imported code may raise anything
        raise report_import_error(name, error) from error

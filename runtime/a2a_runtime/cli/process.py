"""Options of the commands that run a process of an agent: logs, environment, store; and the app
that they name.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias

import click

from a2a_runtime.base.importing import ImportFromStringError, explain_missing, import_from_string
from a2a_runtime.base.logs import configure_logging, request_log
from a2a_runtime.cli.startup import InvalidConfigurationError, report_import_error
from a2a_runtime.features.project.loader import ProjectConfigError
from a2a_runtime.settings import FILE_SUFFIX, is_secret, list_settings, read_setting, to_variable
from a2a_runtime.stores.address import has_password

PROJECT_APP = "a2a_runtime.app:app"
"""App of the project in the working directory."""

_Decorator: TypeAlias = Callable[[Callable[..., None]], Callable[..., None]]
_FILE = click.Path(exists=True, dir_okay=False)


def _enable_request_log(
    _context: click.Context,
    _option: click.Parameter,
    is_enabled: bool,  # noqa: FBT001 - the signature of click
) -> None:
    if is_enabled:
        request_log.setLevel(logging.DEBUG)


def _read_env_file(_context: click.Context, _option: click.Parameter, path: str | None) -> None:
    if path is None:
        return
    with explain_missing("--env-file"):
        from dotenv import load_dotenv  # noqa: PLC0415 - comes with the extra

    load_dotenv(path)


given_options: dict[str, str] = {}
"""The options of the command line that set settings, by setting."""


def override_setting(
    _context: click.Context,
    option: click.Parameter,
    value: str | bool | None,  # noqa: FBT001 - the signature of click
) -> None:
    """Set the variable of the setting that an option is named after."""
    name = option.name or ""
    variable = to_variable(name)
    if isinstance(value, str) and is_secret(name) and has_password(value):
        click.echo(
            (
                f"--{name}: its password is visible in the list of processes; set "
                f"{variable}{FILE_SUFFIX}"
            ),
            err=True,
        )
    if value is not None:
        given_options[name] = option.opts[0]
        os.environ.pop(variable + FILE_SUFFIX, None)
        if isinstance(value, bool):
            value = "on" if value else "off"
        os.environ[variable] = value


_OPTIONS = (
    click.option(
        "--log-calls",
        is_flag=True,
        expose_value=False,
        callback=_enable_request_log,
        help="Log the operation of every call, and the end of every task.",
    ),
    click.option(
        "--env-file",
        type=_FILE,
        expose_value=False,
        is_eager=True,
        callback=_read_env_file,
        help="File of environment variables.",
    ),
)


def _iter_setting_options(command: str) -> Iterator[_Decorator]:
    """Make an option of every setting whose schema names the command; the help is the description
    of the setting.
    """
    for name, facts in list_settings().items():
        if command not in facts.get("x-a2a-option", ()):
            continue
        word = name.replace("_", "-")
        default = facts["default"]
        is_switch = facts["type"] == "boolean"
        declaration = f"--{word}"
        kind: object = str
        if is_switch:
            declaration = f"--{word}/--no-{word}"
            kind = bool
            default = "on" if default else "off"
        elif "enum" in facts:
            kind = click.Choice(facts["enum"])
        description = facts["description"].replace("`", "").removesuffix(".")
        text = f"{description}; instead of {to_variable(name)}."
        if default:
            text = f"{text} [default: {default}]"
        yield click.option(
            declaration,
            type=kind,
            default=None,
            expose_value=False,
            callback=override_setting,
            help=text,
        )


def process_options(name: str) -> _Decorator:
    """Add the options of a process, and those of the settings that the command has; they take
    effect by themselves, in the environment.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*args: Any, **values: Any) -> None:  # noqa: ANN401 - passed on
            try:
                level, log_format = (
                    str(read_setting(os.environ, name)) for name in ("log_level", "log_format")
                )
            except ValueError as error:
                raise InvalidConfigurationError(str(error)) from error
            configure_logging(level, log_format)
            command(*args, **values)

        decorated: Callable[..., None] = run
        options: list[_Decorator] = [*_OPTIONS, *_iter_setting_options(name)]
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def load_app(name: str) -> Any:  # noqa: ANN401 - any object that a command can use
    """Import an app by its name, or raise the error of a configuration that cannot be used."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        full_name = name if ":" in name else f"{name}:app"
        return import_from_string(full_name)
    except ImportFromStringError as error:
        raise InvalidConfigurationError(
            f"{error}; name an app as module:attribute, e.g. hello:app for app in hello.py"
        ) from error
    except ProjectConfigError as error:
        raise InvalidConfigurationError(str(error)) from error
    except Exception as error:
        # imported code may raise anything
        raise report_import_error(name, error) from error

"""Options of ``a2a-gen serve`` for a folder of modules instead of an app."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from a2a_runtime.commands.startup import InvalidConfigurationError, report_import_error
from a2a_runtime.importing import explain_missing

if TYPE_CHECKING:
    from litestar import Litestar

FOLDER = "extensions_dir"
_SERVED = ("name", "description", "version", "push_notifications", "watch")
_NEEDS_FOLDER = (*_SERVED, "auth_type", "auth_issuer", "auth_audience")
_OPTIONS = (
    click.option("--extensions-dir", type=click.Path(), help="Folder of apcore modules to serve instead of an app."),
    click.option("--name", help="Name of the agent of --extensions-dir. [default: apcore-agent]"),
    click.option("--description", help="Its description. [default: the number of skills]"),
    click.option("--version", help="Its version. [default: 0.0.0]"),
    click.option("--auth-type", type=click.Choice(["bearer"]), help="Accept callers with tokens (JWT) of --auth-issuer only."),
    click.option("--auth-issuer", help="URL of the issuer of tokens, which publishes its keys (OpenID Connect)."),
    click.option("--auth-audience", help="Audience of tokens. [default: the name of the agent]"),
    click.option("--push-notifications", is_flag=True, help="Deliver webhooks."),
    click.option("--watch", is_flag=True, help="Load modules again whose files change."),
)


def extension_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a folder of modules."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def take_extension_options(options: dict[str, Any]) -> dict[str, Any] | None:
    """Remove the options of a folder from those of the command; ``None`` without a folder."""
    taken = {name: options.pop(name) for name in (FOLDER, *_NEEDS_FOLDER)}
    given = [name for name in _NEEDS_FOLDER if taken[name]]
    if taken[FOLDER] is None:
        if given:
            raise InvalidConfigurationError(f"--{given[0].replace('_', '-')}: is for --extensions-dir; name a folder, or remove the option")
        return None
    return taken


def build_extensions_app(options: dict[str, Any]) -> Litestar:
    """Find the modules in a folder, and build the app of their agent."""
    folder = Path(options[FOLDER])
    if not folder.is_dir():
        raise InvalidConfigurationError(f"Extensions directory not found: {folder}")
    if bool(options["auth_type"]) != bool(options["auth_issuer"]):
        raise InvalidConfigurationError("--auth-type: needs the issuer of the tokens; give --auth-type bearer and --auth-issuer URL")
    with explain_missing("--extensions-dir", "apcore"):
        apcore: Any = import_module("apcore")
        from a2a_runtime.bridges.apcore.auth import JWTAuthenticator  # noqa: PLC0415 - an extra, which other apps do not need
        from a2a_runtime.bridges.apcore.server import DEFAULT_NAME, async_serve  # noqa: PLC0415 - as above
    served = {name: options[name] for name in _SERVED if options[name]}
    try:
        if options["auth_issuer"]:
            audience = options["auth_audience"] or options["name"] or DEFAULT_NAME
            served["auth"] = JWTAuthenticator(issuer=options["auth_issuer"], audience=audience)
        registry = apcore.Registry(extensions_dir=str(folder))
        registry.discover()
        return async_serve(registry, **served).litestar
    except ValueError as error:
        raise InvalidConfigurationError(f"--extensions-dir: {error}") from error
    except Exception as error:  # the edge of a command: modules and their registry may raise anything
        raise report_import_error(str(folder), error) from error

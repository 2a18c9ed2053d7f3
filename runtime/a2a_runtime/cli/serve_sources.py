"""Options of ``a2a-gen serve`` for a folder of modules, or servers of tools, instead of an app."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from a2a_runtime.base.importing import explain_missing
from a2a_runtime.cli.startup import InvalidConfigurationError, report_import_error

if TYPE_CHECKING:
    from litestar import Litestar

    from a2a_runtime.features.sources import SkillSource

FOLDER = "extensions_dir"
SERVERS = "mcp"
_FLAGS = {FOLDER: "--extensions-dir", SERVERS: "--mcp"}
_SERVED = ("name", "description", "version", "push_notifications", "watch")
_NEEDS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("name", "description", "version", "push_notifications"), (FOLDER, SERVERS)),
    **dict.fromkeys(("watch", "auth_type", "auth_issuer", "auth_audience"), (FOLDER,)),
    "mcp_env": (SERVERS,),
}
"""By option: what it is for."""
_OPTIONS = (
    click.option(
        "--extensions-dir",
        type=click.Path(),
        help="Folder of apcore modules to serve instead of an app.",
    ),
    click.option(
        "--mcp",
        multiple=True,
        help=(
            "Command or URL of an MCP server, to serve its tools instead of an app; may be "
            "repeated."
        ),
    ),
    click.option(
        "--mcp-env",
        multiple=True,
        metavar="NAME",
        help="Variable of this environment that the command of --mcp gets; may be repeated.",
    ),
    click.option(
        "--name",
        help="Name of the agent of --extensions-dir or --mcp. [default: apcore-agent, mcp-agent]",
    ),
    click.option("--description", help="Its description. [default: the number of skills]"),
    click.option("--version", help="Its version. [default: 0.0.0]"),
    click.option(
        "--auth-type",
        type=click.Choice(["bearer"]),
        help="Accept callers with tokens (JWT) of --auth-issuer only.",
    ),
    click.option(
        "--auth-issuer",
        help="URL of the issuer of tokens, which publishes its keys (OpenID Connect).",
    ),
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
    """Remove the options of a folder or of servers from those of the command; ``None`` without
    both.
    """
    taken = {name: options.pop(name) for name in (*_FLAGS, *_NEEDS)}
    given = {name for name in _FLAGS if taken[name] not in (None, ())}
    if len(given) > 1:
        raise InvalidConfigurationError(
            "--mcp: serves the tools of servers instead of --extensions-dir; remove one of them"
        )
    for name, needed in _NEEDS.items():
        if taken[name] and given.isdisjoint(needed):
            flags = " or ".join(_FLAGS[each] for each in needed)
            raise InvalidConfigurationError(
                f"--{name.replace('_', '-')}: is for {flags}; give one, or remove the option"
            )
    if given:
        return taken
    return None


def build_app(options: dict[str, Any]) -> Litestar:
    """Build the app of a folder, or of servers."""
    if options[SERVERS]:
        return build_servers_app(options)
    return build_extensions_app(options)


def build_servers_app(options: dict[str, Any]) -> Litestar:
    """Build the app of an agent with the tools of MCP servers; these are started with it."""
    from a2a_runtime.agent import Agent, Capabilities  # noqa: PLC0415 - other apps do not need it
    from a2a_runtime.app import create_app  # noqa: PLC0415 - as above

    sources = [build_server_source(server, options["mcp_env"]) for server in options[SERVERS]]
    capabilities = Capabilities(push_notifications=options["push_notifications"])
    name = options["name"] or "mcp-agent"
    version = options["version"] or "0.0.0"
    return create_app(
        Agent(
            name, options["description"] or "", version, sources=sources, capabilities=capabilities
        )
    )


def build_server_source(
    server: str, variables: Sequence[str], subject: str = "--mcp"
) -> SkillSource:
    """Build the source of the tools of an MCP server, whose command gets variables of this
    environment; errors begin with ``subject``.
    """
    if missing := ", ".join(name for name in variables if name not in os.environ):
        raise InvalidConfigurationError(
            f"--mcp-env: {missing} is not set in this environment; set it, or remove the option"
        )
    with explain_missing("MCP servers", "mcp"):
        # an extra, imported only here
        from a2a_runtime.features.mcp.source.source import McpSource, is_url  # noqa: PLC0415

    env = {name: os.environ[name] for name in variables}
    try:
        if is_url(server) or not env:
            return McpSource(server)
        return McpSource(server, env=env)
    except ValueError as error:
        raise InvalidConfigurationError(f"{subject}: {error}") from error


# typed as Any: the library is an extra
def find_modules(folder: Path, subject: str = "--extensions-dir") -> Any:  # noqa: ANN401
    """Find the apcore modules of a folder, as a registry; modules and their registry may raise
    anything. Errors begin with ``subject``.
    """
    if not folder.is_dir():
        raise InvalidConfigurationError(f"Extensions directory not found: {folder}")
    with explain_missing(subject, "apcore"):
        apcore: Any = import_module("apcore")
    try:
        registry = apcore.Registry(extensions_dir=str(folder))
        registry.discover()
    except Exception as error:
        raise report_import_error(str(folder), error) from error
    return registry


def build_extensions_app(options: dict[str, Any]) -> Litestar:
    """Find the modules in a folder, and build the app of their agent."""
    if bool(options["auth_type"]) != bool(options["auth_issuer"]):
        raise InvalidConfigurationError(
            "--auth-type: needs the issuer of the tokens; give --auth-type bearer and "
            "--auth-issuer URL"
        )
    registry = find_modules(Path(options[FOLDER]))
    # an extra, imported only here, which other apps do not need
    from a2a_runtime.features.apcore.auth import JWTAuthenticator  # noqa: PLC0415
    from a2a_runtime.features.apcore.server import DEFAULT_NAME, async_serve  # noqa: PLC0415

    served = {name: options[name] for name in _SERVED if options[name]}
    try:
        if options["auth_issuer"]:
            audience = options["auth_audience"] or options["name"] or DEFAULT_NAME
            served["auth"] = JWTAuthenticator(issuer=options["auth_issuer"], audience=audience)
        return async_serve(registry, **served).litestar
    except ValueError as error:
        raise InvalidConfigurationError(f"--extensions-dir: {error}") from error

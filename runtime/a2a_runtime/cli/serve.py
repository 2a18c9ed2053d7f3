"""``a2a-gen serve``: the agent of a project, or an app, on a port."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
import sys
from importlib.util import find_spec
from typing import Any, NoReturn

import click

from a2a_runtime.base.importing import MissingLibraryError, explain_missing

with explain_missing("a2a-gen serve", "serve"):
    import uvicorn
    from litestar import Litestar

from a2a_runtime.cli.counts import pluralize
from a2a_runtime.cli.process import PROJECT_APP, load_app, process_options
from a2a_runtime.cli.serve_sources import build_app, extension_options, take_extension_options
from a2a_runtime.cli.settings_report import describe_settings
from a2a_runtime.cli.startup import InvalidConfigurationError, check_port, report_start_error
from a2a_runtime.cli.supervisor import InheritedFiles, Supervisor, build_command
from a2a_runtime.cli.usage_errors import StrictCommand
from a2a_runtime.errors import ConfigurationError, StoreUnavailableError, UnsupportedStoreError
from a2a_runtime.features.heartbeat.registration import LISTENING_PORT
from a2a_runtime.features.project.loader import stale_log
from a2a_runtime.features.server.protocol import BoundedHttpProtocol
from a2a_runtime.features.server.runner import run_server
from a2a_runtime.http.access_log import AccessLog
from a2a_runtime.http.exposure import LISTENING_HOST
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.ports.registry import OFF
from a2a_runtime.settings import read_setting
from a2a_runtime.surface import Surface

_FILE = click.Path(exists=True, dir_okay=False)
_EXAMPLES = """\b
Examples:
  a2a-gen serve                                   the agent of the a2a.toml in this folder or above
  a2a-gen serve agent:app --port 9000             an ASGI app
  a2a-gen serve --forwarded-allow-ips 10.0.0.7    behind a proxy at that address
  a2a-gen serve --host 0.0.0.0                    on all addresses; needs a gate, or --open
  a2a-gen serve --grpc 127.0.0.1:50051            over gRPC too, at that address
  a2a-gen serve --workers 4                       four processes on one port, with a Postgres store
  a2a-gen serve --reload                          start again when a file below this folder changes
  a2a-gen serve --extensions-dir ./extensions     a folder of apcore modules
  a2a-gen serve --mcp "npx -y some-mcp-server"    the tools of an MCP server
  a2a-gen serve --show-settings                   every setting, its value, and where it comes from

\b
Exit codes: 0 stopped, 1 invalid configuration, 2 failed to start or crashed."""


@click.command(cls=StrictCommand, epilog=_EXAMPLES)
@click.argument("app", default=PROJECT_APP)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on.",
)
@click.option(
    "--drain",
    default=10,
    show_default=True,
    type=click.IntRange(0),
    help="Seconds that open requests get on shutdown.",
)
@click.option(
    "--max-connections",
    type=click.IntRange(1),
    help="Open connections. [default: three quarters of the descriptors, see ulimit -n]",
)
@click.option(
    "--send-timeout",
    type=click.IntRange(1),
    help="Seconds in which a client has to read some of an answer. [default: 30]",
)
@click.option(
    "--drain-delay",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="Seconds between SIGTERM and the end of new connections, in which /readyz says 503.",
)
@click.option(
    "--forwarded-allow-ips",
    "proxies",
    default="",
    envvar="FORWARDED_ALLOW_IPS",
    help=(
        "Addresses of trusted proxies, separated by commas; their X-Forwarded-* headers are "
        "used. [default: none]"
    ),
)
@click.option(
    "--ssl-certfile",
    type=_FILE,
    help="Certificate of the server, for TLS; --ssl-keyfile has its key.",
)
@click.option(
    "--ssl-keyfile", type=_FILE, help="Private key of the certificate. [default: in the same file]"
)
@click.option(
    "--ssl-ca-certs",
    type=_FILE,
    help="Authorities of client certificates, which [auth.*] of kind mutual-tls then admits.",
)
@process_options("serve")
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Server processes on the port; several need a Postgres store.",
)
@click.option(
    "--reload",
    is_flag=True,
    help="Start again when code or configuration below this folder changes; for development.",
)
@extension_options
@click.option(
    "--show-settings",
    is_flag=True,
    help="Print every setting with its value and its source, secrets masked, and exit.",
)
@click.option("--built-by-dev", is_flag=True, hidden=True)
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Check the configuration and the store, and exit without serving.",
)
def command(
    app: str,
    host: str,
    port: int,
    proxies: str,
    *,
    only_check: bool,
    **options: Any,  # noqa: ANN401 - paths of files, and numbers
) -> None:
    """Serve an agent over HTTP with uvicorn, and over gRPC if it has a port, until it is
    stopped.
    """
    if options["ssl_ca_certs"] and find_spec("cryptography") is None:
        raise InvalidConfigurationError(
            "--ssl-ca-certs: cryptography is not installed; run pip install 'a2a-gen[auth]'"
        )
    # it builds after each edit, also after one during a start
    stale_log.disabled = options.pop("built_by_dev")
    if options.pop("show_settings"):
        click.echo(describe_settings(os.environ))
        return
    extensions = take_extension_options(options)
    if extensions is not None and app != PROJECT_APP:
        raise InvalidConfigurationError(
            f"{app}: not served beside --extensions-dir or --mcp; leave it out, or add the "
            "tools to its agent as a source"
        )
    if only_check:
        _check(load_app(app) if extensions is None else build_app(extensions), host)
        return
    processes = options.pop("workers")
    is_reloading = options.pop("reload")
    # this port is registered at a mesh unless a setting names another
    os.environ[LISTENING_PORT] = str(port)
    os.environ[LISTENING_HOST] = host
    inherited = InheritedFiles.from_environment()
    if extensions is not None and (processes > 1 or is_reloading):
        raise InvalidConfigurationError(
            "--extensions-dir and --mcp: are for one process; use an app for --workers and "
            "--reload, or --watch for a folder"
        )
    if inherited is None and (processes > 1 or is_reloading):
        _supervise(app, host, port, proxies, processes, is_reloading=is_reloading, **options)
    loaded = load_app(app) if extensions is None else build_app(extensions)
    if (plugin := _find_plugin(loaded)) is not None:
        _check_exposure(plugin, host)
    if inherited is None:
        check_port(host, port)
    drain_delay = options.pop("drain_delay")
    served = AccessLog(loaded) if read_setting(os.environ, "access_log") else loaded
    config = _build_config(served, host, port, proxies, **options)
    if (failure := run_server(config, drain_delay, inherited=inherited)) is not None:
        raise report_start_error(failure)


# typed as Any: the app is any of ASGI, the options are those of uvicorn
def _build_config(
    app: Any,  # noqa: ANN401
    host: str,
    port: int,
    proxies: str,
    **options: Any,  # noqa: ANN401
) -> uvicorn.Config:
    if (max_connections := options.pop("max_connections")) is not None:
        BoundedHttpProtocol.max_connections = max_connections
    if (send_timeout := options.pop("send_timeout")) is not None:
        BoundedHttpProtocol.send_timeout = send_timeout
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        lifespan="on",
        timeout_graceful_shutdown=options.pop("drain"),
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies or None,
        http=BoundedHttpProtocol,
        ssl_cert_reqs=ssl.CERT_OPTIONAL if options["ssl_ca_certs"] else ssl.CERT_NONE,
        log_config=None,
        access_log=False,
        **options,
    )
    try:
        config.load()
    except OSError as error:
        # a file of TLS cannot be read
        raise InvalidConfigurationError(
            f"--ssl-certfile: {error}; give files with a certificate and its private key"
        ) from None
    return config


def _supervise(
    app: str,
    host: str,
    port: int,
    proxies: str,
    processes: int,
    *,
    is_reloading: bool,
    **options: Any,  # noqa: ANN401
) -> NoReturn:
    """Serve with processes of this command; settings are in their environment already, so that no
    secret is in their arguments.
    """
    if processes > 1:
        _check_processes(load_app(app), processes, host)
    check_port(host, port)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=2048)
    given = {
        "host": host,
        "port": listening.getsockname()[1],
        "forwarded-allow-ips": proxies,
        **options,
    }
    words: list[str] = []
    for name, value in given.items():
        if value not in (None, ""):
            words += (f"--{name.replace('_', '-')}", str(value))
    code = Supervisor(
        build_command([app, *words]), listening, processes, is_reloading=is_reloading
    ).run()
    listening.close()
    sys.exit(code)


def _check_processes(app: object, processes: int, host: str) -> None:
    """Refuse before the first start what each of several processes would refuse."""
    plugin = _find_plugin(app)
    if plugin is None:
        return
    _check_exposure(plugin, host)
    if not plugin.has_shared_store:
        raise InvalidConfigurationError(
            f"--workers {processes}: the store belongs to one process; set --store "
            "postgresql://…, or --workers 1"
        )
    if plugin.settings.metrics_path != OFF:
        logging.getLogger(__name__).warning(
            "metrics: each of %d processes has its own numbers, and a scrape reads one of them",
            processes,
        )


def _check(app: object, host: str) -> None:
    """Check who may call the agents of an app, open its store, and compare its schema version."""
    plugin = _find_plugin(app)
    if plugin is None:
        click.echo("the app can be imported; it has no agents of A2APlugin that could be checked")
        return
    _check_exposure(plugin, host)
    try:
        store = asyncio.run(plugin.check_store())
    except (StoreUnavailableError, UnsupportedStoreError, MissingLibraryError) as error:
        raise report_start_error(error) from error
    click.echo(f"ready to serve: {'; '.join(map(_describe_surface, plugin.surfaces))}; {store}")


def _describe_surface(surface: Surface) -> str:
    """Describe a surface in one line; skills of a source are known once the agent has started."""
    skills = pluralize(len(surface.skills), "skill")
    if surface.agent.sources:
        skills = f"{skills} and those of its sources"
    return f"{surface.agent.name} at {surface.path or '/'}, {skills}"


def _check_exposure(plugin: A2APlugin, host: str) -> None:
    """Refuse agents that may not be served at an address."""
    try:
        plugin.check_exposure(host)
    except ConfigurationError as error:
        raise report_start_error(error) from error


def _find_plugin(app: object) -> A2APlugin | None:
    if isinstance(app, Litestar):
        return next((each for each in app.plugins if isinstance(each, A2APlugin)), None)
    return None

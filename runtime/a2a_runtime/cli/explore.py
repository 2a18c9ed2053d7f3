"""``a2a-gen explore``: a page to see, try and debug an agent."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from a2a_runtime.base.importing import explain_missing
from a2a_runtime.http.exposure import LISTENING_HOST

with explain_missing("a2a-gen explore", "serve"):
    import uvicorn
    from litestar import Litestar

from a2a_runtime.base.logs import TEXT_FORMAT, configure_logging
from a2a_runtime.cli.process import PROJECT_APP, load_app
from a2a_runtime.cli.startup import InvalidConfigurationError, StartError, report_start_error
from a2a_runtime.cli.terminal.target import Target, add_target_options
from a2a_runtime.cli.usage_errors import CommandUsageError, StrictCommand
from a2a_runtime.client.client import complete_options
from a2a_runtime.features.explorer.directory import ExploredAgent
from a2a_runtime.features.explorer.feature import TOKEN_OPTION
from a2a_runtime.features.explorer.standalone import EXPLORER_PATH, LOOPBACK, StandaloneExplorer
from a2a_runtime.features.server.protocol import BoundedHttpProtocol
from a2a_runtime.features.server.runner import run_server
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.settings import PREFIX, to_variable

_DRAIN_SECONDS = 1
_EXAMPLES = """\b
Examples:
  a2a-gen explore                                the agent of the a2a.toml in this folder or above
  a2a-gen explore agent:app                      the agents of an app
  a2a-gen explore https://agent.example          any agent, of any version, over any binding
  a2a-gen explore https://agent.example --token @token.txt
  a2a-gen explore http://127.0.0.1:8000 --dialect mesh
  a2a-gen explore grpc://127.0.0.1:50051         an agent over gRPC, which has no card there

\b
The page is on this machine only, at an address with a token. It calls the
agent from this process: credentials of the options stay here, and the
browser needs no permission of the agent (CORS).

\b
Exit codes: 0 stopped, 1 usage or configuration, 2 failed to start."""


@dataclass(frozen=True, slots=True)
class _Address:
    """The port of the page; its server prints the address when it has started."""

    listening: socket.socket
    token: str
    should_open: bool

    @property
    def port(self) -> int:
        """The number of the port."""
        port: int = self.listening.getsockname()[1]
        return port

    def report_start(self) -> None:
        """Print the address of the page, and open it; the fragment never leaves the browser."""
        url = f"http://{LOOPBACK}:{self.port}{EXPLORER_PATH}/#token={self.token}"
        click.echo(f"explorer: {url}\nstop it with Ctrl-C")
        if self.should_open and not webbrowser.open(url):
            click.echo("no browser was found; open the address yourself", err=True)


def _target_options(function: Callable[..., None]) -> Callable[..., None]:
    return add_target_options(
        function, click.argument("url", default=PROJECT_APP, metavar="[URL|APP]"), runs_on=True
    )


@click.command(cls=StrictCommand, epilog=_EXAMPLES)
@_target_options
@click.option(
    "--port",
    default=0,
    show_default="a free one",
    type=click.IntRange(0, 65535),
    help="Port of the page on this machine.",
)
@click.option(
    "--open/--no-open",
    "should_open",
    default=None,
    help="Open the browser. [default: on a terminal]",
)
def command(target: Target, port: int, *, should_open: bool | None) -> None:
    """Open a page to see, try and debug an agent: the one of this folder, of an app, or at a
    URL.
    """
    token = secrets.token_urlsafe(32)
    app = _explore_url(target, token) if "://" in target.url else _explore_app(target.url, token)
    with _listen(port) as listening:
        configure_logging("warning", TEXT_FORMAT)
        opens_browser = sys.stdout.isatty() if should_open is None else should_open
        address = _Address(listening, token, opens_browser)
        if isinstance(app, StandaloneExplorer):
            app.allow_port(address.port)
        config = uvicorn.Config(
            app,
            lifespan="on",
            http=BoundedHttpProtocol,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_DRAIN_SECONDS,
        )
        if (failure := run_server(config, inherited=address)) is not None:
            raise report_start_error(failure)


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise StartError(
            f"{LOOPBACK}:{port}: {reason}; choose another --port, or none for a free one"
        ) from None


def _explore_url(target: Target, token: str) -> StandaloneExplorer:
    """Build the explorer of an agent at a URL."""
    try:
        options = complete_options(target.url, target.timeout, target.options)
    except ValueError as error:
        raise CommandUsageError(str(error)) from error
    name = urlsplit(target.url).netloc
    secrets = tuple(_list_secrets(target))
    agent = ExploredAgent("0", name, target.url, options, target.auth, secrets, target.timeout)
    return StandaloneExplorer([agent], token)


def _list_secrets(target: Target) -> Iterator[str]:
    auth = target.auth
    if isinstance(auth, str):
        yield auth
    elif isinstance(auth, Mapping):
        yield from (each for each in auth.values() if isinstance(each, str))


def _explore_app(name: str, token: str) -> Any:  # noqa: ANN401 - an app of Litestar
    """Load an app, with the explorer in it."""
    context = click.get_current_context()
    for option in context.params:
        if (
            option not in {"port", "should_open", "url"}
            and context.get_parameter_source(option) is ParameterSource.COMMANDLINE
        ):
            raise CommandUsageError(
                f"--{option.replace('_', '-')}: is for an agent at a URL; sign in on the "
                "page instead"
            )
    os.environ[to_variable("explorer")] = "on"
    os.environ[LISTENING_HOST] = LOOPBACK
    # the registry of a mesh would send calls here
    os.environ.setdefault(f"{PREFIX}STANDALONE", "true")
    app = load_app(name)
    plugin = None
    if isinstance(app, Litestar):
        plugin = next((each for each in app.plugins if isinstance(each, A2APlugin)), None)
    if plugin is None:
        raise InvalidConfigurationError(
            f"{name}: no app of Litestar with agents; serve it, and pass its URL"
        )
    if not plugin.settings.explorer:
        raise InvalidConfigurationError(
            f"{name}: its code has settings of its own, without the explorer; add "
            "Settings(explorer=True)"
        )
    plugin.options[TOKEN_OPTION] = token
    return app

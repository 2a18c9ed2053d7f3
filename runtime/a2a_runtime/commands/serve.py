"""``a2a-gen serve``: the agent of a project, or an app, on a port."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from types import FrameType
from typing import Any

import click

from a2a_runtime.importing import explain_missing

with explain_missing("a2a-gen serve", "serve"):
    import uvicorn
    from litestar import Litestar
    from uvicorn.lifespan.on import LifespanOn

from a2a_runtime.commands.process import PROJECT_APP, load_app, override_setting, process_options
from a2a_runtime.commands.protocol import BoundedHttpProtocol
from a2a_runtime.commands.startup import InvalidConfigurationError, ServeCommand, StartError, check_port, report_start_error
from a2a_runtime.errors import StoreUnavailableError, UnsupportedStoreError
from a2a_runtime.heartbeat.registration import LISTENING_PORT
from a2a_runtime.http.access_log import AccessLog
from a2a_runtime.http.health import ProcessHealth
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.settings import read_setting

_FILE = click.Path(exists=True, dir_okay=False)
_EXAMPLES = """\b
Examples:
  a2a-gen serve                                   the agent of the a2a.toml in this folder or above
  a2a-gen serve agent:app --port 9000             an ASGI app
  a2a-gen serve --forwarded-allow-ips 10.0.0.7    behind a proxy at that address
  a2a-gen serve --grpc 127.0.0.1:50051            over gRPC too, at that address

\b
Exit codes: 0 stopped, 1 invalid configuration, 2 failed to start or crashed."""


@click.command(cls=ServeCommand, epilog=_EXAMPLES)
@click.argument("app", default=PROJECT_APP)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port to listen on.")
@click.option("--drain", default=10, show_default=True, type=click.IntRange(0), help="Seconds that open requests get on shutdown.")
@click.option("--max-connections", type=click.IntRange(1), help="Open connections. [default: three quarters of the descriptors, see ulimit -n]")
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
    help="Addresses of trusted proxies, separated by commas; their X-Forwarded-* headers are used. [default: none]",
)
@click.option("--ssl-certfile", type=_FILE, help="Certificate of the server, for TLS; --ssl-keyfile has its key.")
@click.option("--ssl-keyfile", type=_FILE, help="Private key of the certificate. [default: in the same file]")
@click.option("--ssl-ca-certs", type=_FILE, help="Authorities of client certificates, which [auth.*] of kind mutual-tls then admits.")
@process_options
@click.option(
    "--grpc",
    expose_value=False,
    callback=override_setting,
    help="Address for gRPC, e.g. 127.0.0.1:50051, instead of A2A_GRPC and a2a.toml.",
)
@click.option("--access-log/--no-access-log", default=None, expose_value=False, callback=override_setting, help="Log every request. [default: on]")
@click.option("--check", "only_check", is_flag=True, help="Check the configuration and the store, and exit without serving.")
def command(app: str, host: str, port: int, proxies: str, *, only_check: bool, **options: Any) -> None:  # noqa: ANN401 - paths of files, and numbers
    """Serve an agent over HTTP with uvicorn, and over gRPC if it has a port, until it is stopped."""
    if options["ssl_ca_certs"] and find_spec("cryptography") is None:
        raise InvalidConfigurationError("--ssl-ca-certs: cryptography is not installed; run pip install 'a2a-gen[auth]'")
    if only_check:
        _check_store(load_app(app))
        return

    os.environ[LISTENING_PORT] = str(port)  # registered at a mesh unless a setting names another
    drain_delay = options.pop("drain_delay")
    if (max_connections := options.pop("max_connections")) is not None:
        BoundedHttpProtocol.max_connections = max_connections
    loaded = load_app(app)
    config = uvicorn.Config(
        AccessLog(loaded) if read_setting(os.environ, "access_log") else loaded,
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
    check_port(host, port)
    try:
        config.load()
    except OSError as error:  # of TLS
        raise InvalidConfigurationError(f"--ssl-certfile: {error}; give files with a certificate and its private key") from None
    _run(DrainingServer(config, drain_delay))


class DrainingServer(uvicorn.Server):
    """A server that reports that it is about to stop before it closes its port, so that load balancers send new requests elsewhere."""

    def __init__(self, config: uvicorn.Config, delay_seconds: float) -> None:
        super().__init__(config)
        self._delay_seconds = delay_seconds
        self._stops_at: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; a second signal ends the delay."""
        if self._delay_seconds and self._stops_at is None:
            ProcessHealth.is_draining = True
            self._stops_at = time.monotonic() + self._delay_seconds
            return
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Stop at the end of the delay."""
        if self._stops_at is not None and time.monotonic() >= self._stops_at:
            self.should_exit = True
        return await super().on_tick(counter)


def _run(server: uvicorn.Server) -> None:
    """Serve until the process is stopped; raise the problem of a start that fails."""
    config = server.config
    failures: list[BaseException | None] = []

    class Lifespan(LifespanOn):
        """Keeps the error of a failed start, instead of a traceback in the log."""

        async def send(self, message: Any) -> None:  # noqa: ANN401 - a union of uvicorn
            if message["type"] == "lifespan.startup.failed":
                failures.append(sys.exc_info()[1])  # Litestar sends this while it handles the error
                message = {**message, "message": "" if failures[0] else message["message"]}
            await super().send(message)

    config.lifespan_class = Lifespan
    for stop in (signal.SIGINT, signal.SIGTERM):  # uvicorn handles both, and raises them again after the shutdown
        signal.signal(stop, signal.SIG_IGN)
    with suppress(SystemExit):  # uvicorn exits if the start fails
        server.run()
    for error in filter(None, failures):
        raise report_start_error(error)
    if not server.started:
        raise StartError(f"{config.host}:{config.port}: not served; the lines above have the reason")


def _check_store(app: object) -> None:
    """Open the store of an app and compare its schema version."""
    plugin = next((each for each in app.plugins if isinstance(each, A2APlugin)), None) if isinstance(app, Litestar) else None
    if plugin is None:
        return
    try:
        asyncio.run(plugin.check_store())
    except (StoreUnavailableError, UnsupportedStoreError) as error:
        raise report_start_error(error) from error

"""``a2a-gen serve``: the agent of a project, or an app, on a port."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import ssl
import sys
import traceback
from importlib.util import find_spec
from itertools import dropwhile
from pathlib import Path
from typing import Any

import click

import a2a_runtime
from a2a_runtime.commands import CommandError
from a2a_runtime.heartbeat.registration import ENVIRONMENT_NAMES
from a2a_runtime.importing import ImportFromStringError, import_from_string
from a2a_runtime.logs import SanitizingFormatter, request_log, strip_query
from a2a_runtime.project.loader import ProjectConfigError

_PROJECT_APP = "a2a_runtime.app:app"
_EXIT_FAILED = 1
_FILE = click.Path(exists=True, dir_okay=False)
_OWN_FOLDERS = tuple(str(Path(each.__file__ or "").parent) for each in (a2a_runtime, importlib))
_EXAMPLES = """\b
Examples:
  a2a-gen serve                                   the agent of the a2a.toml in this folder or above
  a2a-gen serve agent:app --port 9000             an ASGI app
  a2a-gen serve --forwarded-allow-ips 10.0.0.7    behind a proxy at that address

\b
Exit codes: 0 stopped, 1 failed to start or crashed, 2 invalid configuration."""


def _enable_request_log(_context: click.Context, _option: click.Parameter, is_enabled: bool) -> None:  # noqa: FBT001 - the signature of click
    if is_enabled:
        request_log.setLevel(logging.DEBUG)


@click.command(epilog=_EXAMPLES)
@click.argument("app", default=_PROJECT_APP)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port to listen on.")
@click.option("--drain", default=10, show_default=True, type=click.IntRange(0), help="Seconds that open requests get on shutdown.")
@click.option(
    "--forwarded-allow-ips",
    "proxies",
    default="",
    envvar="FORWARDED_ALLOW_IPS",
    help="Addresses of trusted proxies, separated by commas; their X-Forwarded-* headers are used. [default: none]",
)
@click.option(
    "--log-calls",
    is_flag=True,
    expose_value=False,
    callback=_enable_request_log,
    help="Log the operation of every call, and the end of every task.",
)
@click.option("--ssl-certfile", type=_FILE, help="Certificate of the server, for TLS; --ssl-keyfile has its key.")
@click.option("--ssl-keyfile", type=_FILE, help="Private key of the certificate. [default: in the same file]")
@click.option("--ssl-ca-certs", type=_FILE, help="Authorities of client certificates, which [auth.*] of kind mutual-tls then admits.")
@click.option("--check", "only_check", is_flag=True, help="Check the configuration and exit, without serving.")
def command(app: str, host: str, port: int, drain: int, proxies: str, *, only_check: bool, **tls: Any) -> None:  # noqa: ANN401 - paths of files
    """Serve an agent over HTTP with uvicorn, until it is stopped."""
    _configure_logging()
    if only_check:
        _load_app(app)
        return
    try:
        import uvicorn  # noqa: PLC0415 - an extra, needed only here

        from a2a_runtime.commands.protocol import BoundedHttpProtocol  # noqa: PLC0415 - as above
    except ModuleNotFoundError:
        raise CommandError("uvicorn is not installed; run pip install 'a2a-gen[serve]'") from None
    if tls["ssl_ca_certs"] and find_spec("cryptography") is None:
        raise CommandError("--ssl-ca-certs: cryptography is not installed; run pip install 'a2a-gen[auth,serve]'")
    os.environ.setdefault(ENVIRONMENT_NAMES["http_port"][0], str(port))  # the registration at a mesh names it
    config = uvicorn.Config(
        _load_app(app),
        host=host,
        port=port,
        lifespan="on",
        timeout_graceful_shutdown=drain,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies or None,
        http=BoundedHttpProtocol,
        ssl_cert_reqs=ssl.CERT_OPTIONAL if tls["ssl_ca_certs"] else ssl.CERT_NONE,
        **tls,
    )
    server = uvicorn.Server(config)
    for stop in (signal.SIGINT, signal.SIGTERM):  # uvicorn handles both, and raises them again after the shutdown
        signal.signal(stop, signal.SIG_IGN)
    try:
        server.run()
    except SystemExit:  # uvicorn exits if the port is taken
        raise SystemExit(_EXIT_FAILED) from None
    if not server.started:
        raise SystemExit(_EXIT_FAILED)


def _load_app(name: str) -> Any:  # noqa: ANN401 - any object; uvicorn calls it
    sys.path.insert(0, str(Path.cwd()))
    try:
        return import_from_string(name if ":" in name else f"{name}:app")
    except ImportFromStringError as error:
        raise CommandError(f"{error}; name an app as module:attribute") from error
    except ProjectConfigError as error:
        raise CommandError(str(error)) from error
    except Exception as error:  # imported code may raise anything
        raise CommandError(f"{name}: cannot be loaded:\n{_format_traceback(error)}") from error


def _format_traceback(error: Exception) -> str:
    """Format a traceback without the frames of this package and of the import system."""
    frames = traceback.extract_tb(error.__traceback__)
    foreign = dropwhile(lambda frame: frame.filename.startswith((*_OWN_FOLDERS, "<frozen")), frames)
    return "".join([*traceback.format_list(list(foreign)), *traceback.format_exception_only(error)]).rstrip()


def _configure_logging() -> None:
    """Log warnings, and the runtime's own records from INFO, without control characters."""
    handler = logging.StreamHandler()
    handler.setFormatter(SanitizingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger(a2a_runtime.__name__).setLevel(logging.INFO)
    logging.getLogger("uvicorn.access").addFilter(strip_query)

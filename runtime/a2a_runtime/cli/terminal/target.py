"""Options that name an agent and the way to it: URL, credentials, headers, dialect, binding.

Secrets need not be arguments, which every user of the machine can read: ``@FILE`` stands for the
content of a file, and two variables of the environment for a token and for headers.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click
import httpx

from a2a_contract.dialects import DIALECTS
from a2a_contract.errors import A2AError, UnauthenticatedError
from a2a_runtime.cli.terminal.address import to_url
from a2a_runtime.cli.terminal.command import CallError
from a2a_runtime.cli.terminal.content import read_file
from a2a_runtime.cli.terminal.credentials import describe_options, describe_requirements
from a2a_runtime.cli.terminal.text import to_safe_line, to_safe_text
from a2a_runtime.cli.usage_errors import CommandUsageError
from a2a_runtime.client import (
    GRPC,
    HTTP_JSON,
    JSONRPC,
    A2AClient,
    A2AClientError,
    ClientOptions,
    Credential,
    MissingCredentialsError,
    Pin,
)
from a2a_runtime.client.card_resolver import is_http_url
from a2a_runtime.client.grpc import is_grpc_url
from a2a_runtime.settings import FILE_SUFFIX, PREFIX

TOKEN_VARIABLE = f"{PREFIX}CALL_TOKEN"
HEADERS_VARIABLE = f"{PREFIX}CALL_HEADERS"
_DEFAULT_OPTIONS = ClientOptions()
_SECRET_HEADER = re.compile(
    r"\s*(proxy-)?(authorization|cookie)\s*:|[^:]*(key|token|secret)[^:]*:", re.IGNORECASE
)
_BINDINGS = {"jsonrpc": JSONRPC, "http+json": HTTP_JSON, "grpc": GRPC}
_VERSIONS = tuple(dict.fromkeys(dialect.spelling for dialect in DIALECTS.values()))


@dataclass(frozen=True, slots=True)
class Target:
    """An agent, and how to call it."""

    url: str
    auth: httpx.Auth | str | dict[str, Credential] | None
    options: ClientOptions
    timeout: float | None

    @property
    def has_card(self) -> bool:
        """Set if a card is read."""
        return self.options.interface_url is None

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[A2AClient, None]:
        """Create the client, and explain which credentials are missing."""
        async with self._create_client() as client:
            try:
                yield client
            except (MissingCredentialsError, UnauthenticatedError) as error:
                await self._explain(client, error)
                raise

    def _create_client(self) -> A2AClient:
        if not is_http_url(self.url) and not is_grpc_url(self.url):
            fix = "begin it with https:// or http://, followed by a host"
            raise CommandUsageError(f"URL: {self.url!r} is not a URL; {fix}")
        try:
            return A2AClient(self.url, auth=self.auth, timeout=self.timeout, options=self.options)
        except ValueError as error:
            raise CommandUsageError(str(error)) from error

    async def _explain(
        self, client: A2AClient, error: MissingCredentialsError | UnauthenticatedError
    ) -> None:
        """Raise an error with the options for what the card requires, if it says so."""
        if not self.has_card:
            return
        try:
            card = await client.get_card()
        except (A2AError, A2AClientError):
            # it needs credentials itself
            return
        if not (options := describe_options(card)):
            return
        if isinstance(error, UnauthenticatedError) and (self.auth or self.options.headers):
            raise CallError(f"{to_safe_text(error.message)}\n    fix: {options}") from error
        names = ", ".join(self.auth) if isinstance(self.auth, dict) else ""
        given = f"given is --auth for {names}" if names else "no credentials are given"
        problem = f"{to_safe_line(card.name)}: requires {describe_requirements(card)}, and {given}"
        raise CommandUsageError(f"{problem}\n    fix: {options}") from error


URL_ARGUMENT = click.argument("url")
_OPTIONS = (
    click.option("--token", help=f"Bearer token, or @FILE. [env var: {TOKEN_VARIABLE}]"),
    click.option(
        "--auth",
        "credentials",
        multiple=True,
        metavar="NAME=SECRET",
        help="Token or key for a scheme of the card, or NAME=@FILE.",
    ),
    click.option(
        "--user",
        metavar="USER:PASSWORD",
        help="Name and password for HTTP Basic, or @FILE with both.",
    ),
    click.option(
        "--header",
        "headers",
        multiple=True,
        metavar="NAME:VALUE",
        help=(
            "Header of every request, or @FILE with a header in each line. [env var: "
            f"{HEADERS_VARIABLE}]"
        ),
    ),
    click.option(
        "--dialect",
        type=click.Choice(_VERSIONS),
        help="Version of the protocol. [default: the first interface of the card]",
    ),
    click.option(
        "--binding", type=click.Choice(list(_BINDINGS)), help="Binding. [default: as for --dialect]"
    ),
    click.option(
        "--no-card", is_flag=True, help="URL is that of the interface itself; read no card."
    ),
    click.option("--tenant", help="Tenant of every request."),
    click.option(
        "--trust",
        "origins",
        multiple=True,
        metavar="ORIGIN",
        help="Other origin of the agent that may receive the credentials.",
    ),
    click.option(
        "--card-key",
        "card_keys",
        multiple=True,
        metavar="FILE|URL",
        help="Public key (PEM), or URL of a key set, that must have signed the card.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        help="Seconds for the whole call. [default: as long as the agent takes]",
    ),
)


def target_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the URL and the options of an agent, and pass it as ``target``."""
    return add_target_options(function, URL_ARGUMENT)


def add_target_options(
    function: Callable[..., None],
    argument: Callable[..., Callable[..., None]],
    *,
    runs_on: bool = False,
) -> Callable[..., None]:
    """Add the options of an agent behind an argument ``url`` of another form.

    A command that ``runs_on`` takes no secret as an argument: the list of processes would show it
    for hours.
    """

    @wraps(function)
    def build(**options: Any) -> None:  # noqa: ANN401 - values of click
        if runs_on:
            _refuse_visible_secrets(options)
        names = (
            "url",
            "token",
            "credentials",
            "user",
            "headers",
            "dialect",
            "binding",
            "no_card",
            "tenant",
            "origins",
            "card_keys",
            "timeout",
        )
        function(target=_build_target(**{name: options.pop(name) for name in names}), **options)

    decorated: Callable[..., None] = build
    for option in reversed((argument, *_OPTIONS)):
        decorated = option(decorated)
    return decorated


def _refuse_visible_secrets(options: Mapping[str, Any]) -> None:
    """Refuse secrets that stand in the arguments themselves."""
    variable = f", or set {TOKEN_VARIABLE}"
    given = [("--token", options["token"] or "", variable), ("--user", options["user"] or "", "")]
    given += [("--auth", each.partition("=")[2], "") for each in options["credentials"]]
    given += [
        ("--header", each, f" with the headers, or set {HEADERS_VARIABLE}")
        for each in options["headers"]
        if _SECRET_HEADER.match(each)
    ]
    for option, value, other in given:
        if value and not value.startswith("@"):
            raise CommandUsageError(
                f"{option}: a secret in the arguments is visible in the list of processes; "
                f"write @FILE{other}"
            )


def _build_target(
    url: str,
    token: str | None,
    credentials: tuple[str, ...],
    user: str | None,
    **options: Any,  # noqa: ANN401 - of click
) -> Target:
    if sum(map(bool, (token, credentials, user))) > 1:
        raise CommandUsageError(
            "--token, --auth, --user: more than one given; --auth may be repeated, for each "
            "scheme of the card"
        )
    url = to_url(url)
    binding: str | None = options["binding"]
    has_no_card = options["no_card"] or is_grpc_url(url)
    client_options = ClientOptions(
        pin=Pin(options["dialect"], _BINDINGS[binding] if binding else None),
        interface_url=url if has_no_card else None,
        tenant=options["tenant"],
        headers=dict(_read_headers(options["headers"])),
        trusted_origins=options["origins"],
        card_keys=tuple(_read_card_keys(options["card_keys"])),
        read_timeout=options["timeout"] or _DEFAULT_OPTIONS.read_timeout,
    )
    return Target(url, _build_auth(token, credentials, user), client_options, options["timeout"])


def _build_auth(
    token: str | None, credentials: tuple[str, ...], user: str | None
) -> httpx.Auth | str | dict[str, Credential] | None:
    """Build the credentials of the options, else those of the environment."""
    if credentials:
        return dict(map(_parse_credential, credentials))
    if user:
        return _parse_user(user)
    if token:
        return read_secret(token, "--token")
    return _read_variable(TOKEN_VARIABLE).strip() or None


def read_secret(value: str, option: str) -> str:
    """Return a secret, or the content of the file that stands for it."""
    text = _read_text_file(value[1:], option).strip() if value.startswith("@") else value
    if not text or not text.isprintable():
        raise CommandUsageError(
            f"{option}: not one line of printable text; give a secret, or @FILE with one"
        )
    return text


def _parse_credential(text: str) -> tuple[str, Credential]:
    name, separator, value = text.partition("=")
    if not (name and separator and value):
        raise CommandUsageError(
            f"--auth: {name!r} has no secret; write NAME=@FILE with the name of a scheme on "
            "the card"
        )
    return name, read_secret(value, f"--auth {name}")


def _parse_user(text: str) -> httpx.BasicAuth:
    user, separator, password = read_secret(text, "--user").partition(":")
    if not separator:
        raise CommandUsageError("--user: no password; write USER:PASSWORD, or @FILE with both")
    return httpx.BasicAuth(user, password)


def _read_headers(given: Iterable[str]) -> Iterator[tuple[str, str]]:
    lines = _read_variable(HEADERS_VARIABLE).splitlines()
    for each in given:
        if each.startswith("@"):
            lines += _read_text_file(each[1:], "--header").splitlines()
        else:
            lines.append(each)
    for line in filter(str.strip, lines):
        name, separator, value = line.partition(":")
        if not (
            separator
            and name.strip().isascii()
            and name.strip().isprintable()
            and value.strip().isprintable()
        ):
            raise CommandUsageError(
                f"--header: {name[:40]!r} is no header; write NAME: VALUE in one line"
            )
        yield name.strip().lower(), value.strip()


def _read_variable(name: str) -> str:
    """Read a secret of the environment: the variable, or the file that the one with the suffix
    names.
    """
    path = os.environ.get(name + FILE_SUFFIX)
    if path:
        return _read_text_file(path, name + FILE_SUFFIX)
    return os.environ.get(name, "")


def _read_card_keys(given: Iterable[str]) -> Iterator[str]:
    for each in given:
        yield each if "://" in each else _read_text_file(each, "--card-key")


def _read_text_file(path: str, option: str) -> str:
    try:
        return read_file(path, option).decode("utf-8")
    except UnicodeDecodeError:
        raise CommandUsageError(f"{option}: {path}: not UTF-8 text; name a text file") from None

"""Checks of the public address: the card there is the one that is configured, and what it names
leads back to the agent.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx

from a2a_contract.errors import A2AError
from a2a_contract.v1_0 import AgentCard
from a2a_runtime.cli.counts import pluralize
from a2a_runtime.cli.diagnosis.findings import (
    Diagnosis,
    report_error,
    report_fine,
    report_outage,
    warn,
)
from a2a_runtime.client import A2AClient, A2AClientError, ClientOptions, RetryPolicy
from a2a_runtime.surface import Surface

_MAX_CLOCK_SECONDS = 30.0
"""A minute is what checks of tokens usually tolerate; the header has whole seconds."""
_TIMEOUT_SECONDS = 10.0
_LOCAL_HOSTS = frozenset(("localhost", "127.0.0.1", "::1"))
_OPTIONS = ClientOptions(read_timeout=_TIMEOUT_SECONDS, retry_policy=RetryPolicy(attempts=1))


def check_configured_url(surface: Surface) -> Iterator[Diagnosis]:
    """Look at the address that the configuration puts on the card."""
    subject = f"address of {surface.agent.name}"
    url = surface.configured_url
    if url is None:
        fix = (
            "set url under [agent] in a2a.toml, or Agent(url=…): behind a proxy clients see the "
            "address that it forwards otherwise"
        )
        yield warn(subject, "not configured: the card names the host of each request", fix)
    elif urlsplit(url).scheme != "https" and urlsplit(url).hostname not in _LOCAL_HOSTS:
        yield warn(
            subject,
            f"{url} is not https, so credentials are readable on the way",
            "let a proxy end TLS, and change the URL",
        )
    else:
        yield report_fine(subject, url)


async def check_address(url: str, surface: Surface | None) -> AsyncIterator[Diagnosis]:
    """Read the card at an address as clients do, and compare it with the surface that should be
    there.
    """
    subject = f"card at {url}"
    try:
        async with A2AClient(url, options=_OPTIONS) as client:
            card = await client.get_card()
    except ValueError as error:
        yield report_error(subject, str(error))
        return
    except (A2AClientError, A2AError) as error:
        yield report_outage(
            subject,
            str(error),
            "check that the server runs, that the proxy passes /.well-known on, and the DNS name",
        )
        return
    yield report_fine(
        subject, f"{card.name} {card.version}, {pluralize(len(card.skills), 'skill')}"
    )
    for finding in _check_interfaces(subject, url, card):
        yield finding
    if surface:
        for finding in _compare(subject, card, surface):
            yield finding
    async for finding in _check_response(url):
        yield finding


def _check_interfaces(subject: str, url: str, card: AgentCard) -> Iterator[Diagnosis]:
    """Check that the first interface leads to the origin of the card."""
    listed, own = (urlsplit(each) for each in (card.supported_interfaces[0].url, url))
    if (listed.scheme, listed.netloc) != (own.scheme, own.netloc):
        text = f"it leads clients to {listed.scheme}://{listed.netloc}"
        fix = (
            "set url under [agent] to the public address; behind a proxy pass "
            "--forwarded-allow-ips, and let it set X-Forwarded-Proto and Host"
        )
        yield report_error(subject, text, fix)


def _compare(subject: str, card: AgentCard, surface: Surface) -> Iterator[Diagnosis]:
    """Compare the card with what is configured here."""
    there = {each.id for each in card.skills}
    here = there
    if not surface.agent.sources:
        here = {name for name, skill in surface.skills.items() if not skill.only_extended}
    if card.name != surface.agent.name:
        yield report_error(
            subject,
            f"it is that of {card.name!r}, not of {surface.agent.name!r}",
            "check the address, and where the proxy leads",
        )
    elif there != here:
        yield warn(
            subject,
            f"other skills than here: {', '.join(sorted(there ^ here))}",
            "deploy this version, or look at the deployed one",
        )


async def _check_response(url: str) -> AsyncIterator[Diagnosis]:
    """Check readiness and the clock of the server."""
    parts = urlsplit(url)
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS) as http:
            response = await http.get(f"{parts.scheme}://{parts.netloc}/readyz")
    except httpx.HTTPError as error:
        yield report_outage(f"readiness at {url}", f"{type(error).__name__}", "check the proxy")
        return
    if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        yield report_outage(
            f"readiness at {url}",
            f"not ready: {response.text[:200]}",
            "look at the log of the process",
        )
    if date := response.headers.get("date"):
        seconds = abs(time.time() - parsedate_to_datetime(date).astimezone(UTC).timestamp())
        if seconds > _MAX_CLOCK_SECONDS:
            fix = (
                "run a time service on both machines: tokens are refused as expired, or as not "
                "valid yet"
            )
            yield warn("clock", f"{seconds:.0f} s from that of {parts.netloc}", fix)
        else:
            yield report_fine("clock", f"that of {parts.netloc}")

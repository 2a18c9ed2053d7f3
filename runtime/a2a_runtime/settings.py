"""Operator settings and their validation; times are in seconds.

Every setting can be given in the environment, as its name in capitals after ``A2A_``: ``A2A_STORE=postgresql://…``, ``A2A_SHUTDOWN_GRACE=60``. A list
is separated by commas: ``A2A_OUTBOUND_PORTS=443,8443``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from ipaddress import ip_network
from math import isfinite
from typing import TYPE_CHECKING, TypeAlias, TypeVar, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

log = logging.getLogger(__name__)

PREFIX = "A2A_"

Value: TypeAlias = str | int | float | tuple[str, ...] | tuple[int, ...]
T = TypeVar("T")

_POSITIVE = "positive"
_MIN_RENEWALS = 3
"""Renewals per lease at least: two may be late."""
_SIMILARITY = 0.8
"""``difflib`` ratio from which an unknown name is a misspelled setting."""
_MAX_PORT = (1 << 16) - 1
_OTHER_VARIABLES = frozenset(
    (
        *("REGISTRY_URL", "AGENT_ID", "AGENT_NAME", "NAMESPACE", "HTTP_HOST", "HTTP_PORT", "HEALTH_INTERVAL", "STANDALONE"),  # MeshConfig
        "CARD_KEY",  # a2a-gen card
    )
)


def positive(default: T) -> T:
    """Declare a field whose number is above 0."""
    return field(default=default, metadata={_POSITIVE: True})


def invalid_numbers(values: DataclassInstance) -> Iterator[tuple[str, str]]:
    """List the numbers of a dataclass that are negative or not finite, or 0 in a ``positive`` field, each with its problem."""
    for each in fields(values):
        number, is_positive = getattr(values, each.name), each.metadata.get(_POSITIVE, False)
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        if not isfinite(number) or number < 0 or (number == 0 and is_positive):
            yield each.name, f"{number} is not a finite number {'above 0' if is_positive else 'of at least 0'}"


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one process."""

    store: str = field(default="memory", repr=False)  # its URL may hold a password
    """``memory``, ``sqlite:///file`` or ``postgresql://…``"""
    shutdown_grace: float = 30.0
    """Time that running tasks have to end when the process shuts down."""
    cancel_grace: float = 5.0
    """Time that a canceled handler has to stop; then its task ends without it."""
    cancel_timeout: float = 5.0
    """Time that a cancel request waits for the handler; then it returns the task as it is."""
    lease_renew_interval: float = positive(1.0)
    """Interval at which the process renews its lease and reads cancel requests."""
    lease_duration: float = positive(15.0)
    """Time without a renewal after which other processes take over the tasks of a process; at least three renewal intervals."""
    orphan_scan_interval: float = positive(2.0)
    """Interval at which the process looks for orphans: tasks without a live process."""
    cleanup_interval: float = positive(60.0)
    """Interval at which expired tasks are deleted."""
    deadline_check_interval: float = positive(0.25)
    """Interval at which time limits of handlers are checked."""
    working_delay: float = 0.02
    """Time after which a handler that has written nothing is shown as working."""
    store_retry_timeout: float = 30.0
    """Time for which writes and streams are retried while the store is unavailable; then running tasks are handed over."""
    job_poll_interval: float = positive(1.0)
    """Interval at which the progress of background jobs is read."""
    stream_buffer_events: int = positive(512)
    """Number of latest events that are kept in memory for each followed task."""
    tune_gc: bool = True
    """Freeze Python's garbage collector at start and run it less often; for apps of ``create_app``."""
    outbound_hosts: tuple[str, ...] = ()
    """The only hosts for webhooks and files, ``*.example.com`` for all below it; empty: every public host."""
    outbound_networks: tuple[str, ...] = ()
    """Private networks in which webhooks and files are allowed: ``10.1.0.0/16``."""
    outbound_ports: tuple[int, ...] = (443, 8443)
    """Allowed ports of webhooks and files."""
    outbound_allow_loopback: bool = False
    """For development only: allow webhooks and files on this machine, there also over plain HTTP and on every port."""
    outbound_timeout: float = positive(15.0)
    """Timeout of one webhook request, or of fetching one file."""
    outbound_max_bytes: int = positive(10_000_000)
    """Largest file that is fetched."""
    push_initial_delay: float = positive(1.0)
    """Delay before a failed webhook request is retried; it doubles with each retry."""
    push_max_delay: float = positive(900.0)
    """Longest delay between two attempts of a webhook request."""
    push_max_attempts: int = positive(20)
    """Attempts after which a webhook has failed and gets no more requests."""
    push_concurrency: int = positive(64)
    """Number of concurrent webhook requests."""
    push_poll_interval: float = positive(1.0)
    """Interval at which the process looks for webhook requests that other processes have left."""

    signing_keys: tuple[str, ...] = field(default=(), repr=False)
    """Files of private keys (PEM) that sign cards and webhooks."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may call the agent from a browser; empty: only its own."""
    allowed_hosts: tuple[str, ...] = ()
    """Names of hosts at which browsers may call the agent, besides those of its URL and of this machine."""
    hsts_seconds: int = 0
    """Time for which browsers use TLS only (``Strict-Transport-Security``); 0: no header."""
    encryption_keys: tuple[str, ...] = field(default=(), repr=False)
    """Keys that encrypt the secrets of webhooks in the store: 32 bytes each, as base64. The first one encrypts, all of them decrypt."""

    def __post_init__(self) -> None:
        if problems := [*self._problems()]:
            raise ValueError("; ".join(problems))

    def _problems(self) -> Iterator[str]:
        yield from (f"{_variable(name)}: {problem}" for name, problem in invalid_numbers(self))
        shortest = _MIN_RENEWALS * self.lease_renew_interval
        if shortest > self.lease_duration > 0:
            lease, interval = _variable("lease_duration"), _variable("lease_renew_interval")
            yield (
                f"{lease}: {self.lease_duration:g} s is less than {_MIN_RENEWALS} renewals: a late one would cost a live process its tasks; "
                f"set {lease} to at least {shortest:g}, or lower {interval}"
            )
        for network in self.outbound_networks:
            try:
                ip_network(network)
            except ValueError as error:
                yield f"{_variable('outbound_networks')}: {error}"
        for port in self.outbound_ports:
            if not 0 < port <= _MAX_PORT:
                yield f"{_variable('outbound_ports')}: {port} is not a port number (1 to {_MAX_PORT})"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Read the settings in an environment; one error lists all that cannot be read and all that cannot work."""
        hints = get_type_hints(cls)
        values: dict[str, Value] = {}
        problems = [*_check_names(environment, hints)]
        for name, kind in hints.items():
            if (text := environment.get(_variable(name))) is None:
                continue
            parse, noun = _PARSERS[kind]
            try:
                values[name] = parse(text)
            except ValueError:
                problems.append(f"{_variable(name)}: {text!r} is not {noun}")
        try:
            settings = cls(**values)  # type: ignore[arg-type]  # each value comes from the parser of its field's type
        except ValueError as error:
            raise ValueError("; ".join((*problems, str(error)))) from error
        if problems:
            raise ValueError("; ".join(problems))
        return settings


def _variable(name: str) -> str:
    return PREFIX + name.upper()


def _check_names(environment: Mapping[str, str], names: Mapping[str, object]) -> Iterator[str]:
    """List misspelled settings; log the other unknown variables once, since an orchestrator may inject some (``A2A_SERVICE_HOST``)."""
    known = [name.upper() for name in names]
    given = (name.removeprefix(PREFIX) for name in sorted(environment) if name.startswith(PREFIX))
    unknown: list[str] = []
    for name in given:
        if name in known or name in _OTHER_VARIABLES:
            continue
        if similar := get_close_matches(name, known, 1, _SIMILARITY):
            yield f"{PREFIX}{name}: unknown setting; did you mean {PREFIX}{similar[0]}?"
        else:
            unknown.append(PREFIX + name)
    if unknown:
        log.warning("settings: unknown variables ignored: %s", ", ".join(unknown))


def _parse_bool(text: str) -> bool:
    if (value := _BOOLEANS.get(text.lower())) is None:
        raise ValueError(text)
    return value


def _parse_list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _parse_ports(text: str) -> tuple[int, ...]:
    parts = _parse_list(text)
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(text)
    return tuple(map(int, parts))


_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False, "": False}
_PARSERS: Mapping[object, tuple[Callable[[str], Value], str]] = {
    str: (str, "text"),
    int: (int, "an integer"),
    float: (float, "a number"),
    bool: (_parse_bool, "a boolean"),
    tuple[str, ...]: (_parse_list, "a list"),
    tuple[int, ...]: (_parse_ports, "a list of port numbers"),
}
"""Parser of each type of field, and its noun in an error."""

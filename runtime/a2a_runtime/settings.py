"""What an operator may set, with the defaults; times are in seconds.

Every setting can be given in the environment, by its name in capitals after ``A2A_``: ``A2A_STORE=postgresql://…``, ``A2A_SHUTDOWN_GRACE=60``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from ipaddress import ip_network
from math import isfinite
from typing import TypeVar, get_type_hints

# What a number may be that somebody sets: finite and not negative, and more than nothing where nothing would stop the work or make it spin.


def invalid_numbers(said: Mapping[str, object], positive: Collection[str], prefix: str = "") -> Iterator[str]:
    """Say of each number that cannot work what it would have to be; what is no number is nobody's business here."""
    for name, number in said.items():
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        if not isfinite(number) or number < 0 or (number == 0 and name in positive):
            yield f"{prefix}{name} is {number}, and must be a finite number {'above 0' if name in positive else 'of at least 0'}"


log = logging.getLogger(__name__)

PREFIX = "A2A_"

T = TypeVar("T")

_BEATS = 3
"""How many beats a lease lasts at least: two may be late."""

_POSITIVE = frozenset(
    (
        *("beat", "lease", "sweep", "retention_sweep", "tick", "job_poll", "stream_window", "dial_timeout", "fetch_limit"),
        *("push_first_delay", "push_longest_delay", "push_tries", "push_concurrency", "push_poll"),
    )
)
_ALIKE = 0.8
"""How much a name must be like one of ours to be taken for a slip of the pen."""

_PORTS = range(1, 1 << 16)

_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False, "": False}


@dataclass(frozen=True, slots=True)
class Settings:
    """How the runtime behaves on this machine."""

    store: str = field(default="memory", repr=False)  # its address may hold a password
    """``memory``, ``sqlite:///file`` or ``postgresql://…``"""
    shutdown_grace: float = 30.0
    """How long running tasks may go on after the process was told to stop."""
    cancel_grace: float = 5.0
    """How long a handler may go on after it was told to stop; then its task ends without it."""
    cancel_timeout: float = 5.0
    """How long a cancel request waits for the handler to stop before it answers with the task as it is."""
    lease_renew_interval: float = 1.0
    """How often the process renews its lease and looks for requested cancellations."""
    lease_duration: float = 15.0
    """After how long without a beat a process is taken for dead, and others go on with its tasks; at least three beats."""
    orphan_scan_interval: float = 2.0
    """How often the process looks for tasks whose process is gone."""
    cleanup_interval: float = 60.0
    """How often expired tasks are deleted."""
    deadline_check_interval: float = 0.25
    """How often time limits are looked at."""
    working_delay: float = 0.02
    """How long a handler may run before the task is said to be working, if it has written nothing until then."""
    store_retry_timeout: float = 30.0
    """How long a write of a handler, and a reader, wait for a store that is away."""
    job_poll_interval: float = 1.0
    """How often the progress of a background job is looked at."""
    stream_buffer_events: int = 512
    """How many of the newest events of a followed task are kept in memory."""
    tune_gc: bool = True
    """Whether Python's garbage collector leaves alone what was there at start, and looks less often at the rest; for apps of ``create_app``."""
    outbound_hosts: str = ""
    """The only hosts that webhooks and files may be on, separated by commas, ``*.example.com`` for all below it; empty: every public one."""
    outbound_networks: str = ""
    """Networks of your own that webhooks and files may be in although they are not public, separated by commas: ``10.1.0.0/16``."""
    outbound_ports: str = "443,8443"
    """The ports that webhooks and files may be on, separated by commas."""
    outbound_allow_loopback: bool = False
    """For development only: webhooks and files may be on this machine, there also without https and on every port."""
    outbound_timeout: float = 15.0
    """How long one call of a webhook, or fetching a file, may take."""
    outbound_max_bytes: int = 10_000_000
    """How many bytes a fetched file may have."""
    push_initial_delay: float = 1.0
    """After which time a webhook call that failed is tried again; each time after twice the time before."""
    push_max_delay: float = 900.0
    """The longest time between two tries of a webhook call."""
    push_max_attempts: int = 20
    """After how many tries a webhook has failed and is called no more."""
    push_concurrency: int = 64
    """How many webhooks are called at the same time."""
    push_poll_interval: float = 1.0
    """How often the process looks for webhook calls that other processes have left."""

    signing_keys: str = field(default="", repr=False)
    """Files with private keys (PEM), separated by commas, with which cards and webhooks are signed."""
    cors_origins: str = ""
    """The origins, separated by commas, whose pages may call the agent from a browser; empty: none but its own."""
    hsts_seconds: int = 0
    """For how many seconds browsers are told to come over TLS only; 0: they are told nothing."""
    encryption_keys: str = field(default="", repr=False)
    """Keys, separated by commas, with which the secrets of webhooks are sealed in the store: 32 bytes each, as base64."""

    def __post_init__(self) -> None:
        if wrong := [*self._wrong()]:
            raise ValueError("; ".join(wrong))

    def _wrong(self) -> Iterator[str]:
        yield from invalid_numbers({name.upper(): value for name, value in asdict(self).items()}, {name.upper() for name in _POSITIVE}, PREFIX)
        if self.lease_renew_interval * _BEATS > self.lease_duration > 0:
            yield (
                f"a lease of {self.lease_duration:g} s is too short for a beat every {self.lease_renew_interval:g} s: one that is late would cost a living process its tasks; "
                f"set {PREFIX}LEASE to at least {_BEATS * self.lease_renew_interval:g}, or {PREFIX}BEAT to less"
            )
        for name, text, read in (("dial_networks", self.outbound_networks, ip_network), ("dial_ports", self.outbound_ports, parse_port)):
            try:
                parse_list(text, read)
            except ValueError as error:
                yield f"{PREFIX}{name.upper()}: {error}"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Read the settings that the environment gives, and say which of them cannot be read, or cannot work."""
        hints = get_type_hints(cls)
        given: dict[str, str | int | float] = {}
        wrong: list[str] = []
        for setting in fields(cls):
            name = PREFIX + setting.name.upper()
            if name in environment:
                kind: Callable[[str], str | int | float] = _truth if hints[setting.name] is bool else hints[setting.name]
                try:
                    given[setting.name] = kind(environment[name])
                except ValueError:
                    wrong.append(f"{name}={environment[name]!r} is no {hints[setting.name].__name__}")
        _warn_of_slips(environment, [PREFIX + name.upper() for name in hints])
        try:
            settings = cls(**given)  # type: ignore[arg-type]  # each value was made by its own field's type
        except ValueError as error:
            raise ValueError("; ".join((*wrong, str(error)))) from error
        if wrong:
            raise ValueError("; ".join(wrong))
        return settings


def parse_list(text: str, read: Callable[[str], T]) -> list[T]:
    """Read a list whose items are separated by commas."""
    return [read(part.strip()) for part in text.split(",") if part.strip()]


def parse_port(text: str) -> int:
    """Read the number of a port."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number not in _PORTS:
        raise ValueError(f"{text!r} is no port, a number from {_PORTS.start} to {_PORTS.stop - 1}")
    return number


def _warn_of_slips(environment: Mapping[str, str], known: list[str]) -> None:
    """Tell of variables that are no setting but look like one: others may have their own with this prefix, so it is no error."""
    for name in sorted(environment.keys() - set(known)):
        if name.startswith(PREFIX) and (alike := get_close_matches(name, known, 1, _ALIKE)):
            log.warning("%s is no setting, and is not read; did you mean %s?", name, alike[0])


def _truth(text: str) -> bool:
    if text.lower() not in _TRUTH:
        raise ValueError(f"{text!r} is neither true nor false")
    return _TRUTH[text.lower()]

"""Exposure: who may call the surfaces of an app, whether other machines can reach an open one, and
whether a card promises what the gate does.

    nothing identifies the callers ── on this machine only: served
                                   ├─ reachable from other machines: refused at the start
                                   └─ "open" (``--open``, ``A2A_OPEN=on``, ``OpenGate()``): served

``a2a-gen serve`` tells its processes the address that it listens on. Another server tells an app
nothing, so there a warning takes the place of the refusal. A gRPC port is opened here and is known
under every server.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from ipaddress import ip_address

from a2a_contract.dialects import MESH
from a2a_runtime.auth.gate import AuthGate, DescribableGate, OpenGate, PlatformGate, PresenceGate
from a2a_runtime.errors import ConfigurationError
from a2a_runtime.surface import Surface

LISTENING_HOST = "A2A_LISTENING_HOST"
"""Environment variable in which ``a2a-gen serve`` tells its own processes the address."""

CURE = (
    'set auth in a2a.toml or Surface(gate=AuthGate(…)), PlatformGate("…") if a platform in front '
    "authenticates callers, or --open (A2A_OPEN=on, OpenGate()) to admit every client"
)
"""What to do about a surface whose callers nothing identifies."""

log = logging.getLogger(__name__)


def is_undecided(surface: Surface) -> bool:
    """Tell whether nothing identifies the callers of a surface, and it is not declared open.

    ``PresenceGate`` verifies nothing. It is a gate in the dialect of meshes only, whose document
    says that a proxy checks the tokens.
    """
    if isinstance(surface.gate, PresenceGate):
        return surface.dialects != frozenset((MESH.name,))
    return surface.gate is None and surface.caller is None


def check_callers_are_known(surface: Surface) -> None:
    """Refuse a surface that leaves open who its callers are: an application cannot be asked
    whether it authenticates them.
    """
    if surface.gate is None and surface.caller is None:
        raise ValueError(
            f"{surface}: nothing identifies its callers; set gate=AuthGate(…), "
            "caller=host_user() for users whom this application authenticates, "
            "or gate=OpenGate() to admit all requests as one anonymous caller"
        )


def check_protection(surface: Surface) -> None:
    """Refuse a card whose security requirements are not enforced."""
    if surface.effective_gate is None and surface.security_requirements:
        raise ValueError(
            f"{surface}: the agent declares security_requirements, but no gate enforces "
            "them; set Surface(gate=…)"
        )
    if surface.effective_gate is None and surface.public_card is False:
        raise ValueError(
            f"{surface}: public_card is false, but no gate admits callers; set Surface(gate=…)"
        )
    if isinstance(surface.gate, DescribableGate) and surface.agent.security_requirements:
        raise ValueError(
            f"{surface}: both the gate and the agent declare security requirements; remove "
            "Agent(security_requirements=…)"
        )
    _warn_of_extended_card(surface)
    _check_schemes(surface)


def _warn_of_extended_card(surface: Surface) -> None:
    """Warn of an extended card that no caller can read."""
    if not surface.agent.capabilities.extended_agent_card:
        return
    has_extended = bool(surface.agent.sources) or any(
        skill.only_extended for skill in surface.agent.skills.values()
    )
    if not has_extended:
        cure = "set only_extended on a skill, or remove extended_agent_card"
        log.warning(
            (
                "%s: the card announces an extended card, and no skill is only there, so "
                "clients get an error; %s"
            ),
            surface,
            cure,
        )
    if surface.effective_gate is None:
        log.warning(
            (
                "%s: the extended card is for callers with credentials, and no gate asks for "
                "any; set Surface(gate=AuthGate(…))"
            ),
            surface,
        )


def _check_schemes(surface: Surface) -> None:
    """Refuse skills that require a scheme which the card does not have."""
    known = surface.security_schemes.keys()
    skills = surface.agent.skills if surface.agent.sources else surface.skills
    for skill in skills.values():
        unknown: set[str] = set()
        for requirement in skill.security_requirements:
            unknown.update(requirement.schemes or ())
        unknown -= known
        if unknown:
            names = ", ".join(sorted(unknown))
            raise ValueError(
                f"{surface}: skill {skill.id!r}: unknown security scheme {names}; known: "
                f"{', '.join(known) or 'none'}"
            )


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can connect to an address; a name counts if all its addresses
    do.
    """
    if not host:  # servers listen on all addresses then
        return False
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    addresses = [str(each[4][0]).partition("%")[0] for each in found]
    return all(ip_address(address).is_loopback for address in addresses)


def check_exposure(surfaces: Sequence[Surface], *, is_open: bool, host: str | None = None) -> None:
    """Refuse undecided surfaces that other machines can reach, over HTTP or gRPC.

    ``host`` is the address that the server listens on. Without it that of ``a2a-gen serve`` counts,
    and under another server a warning is logged.
    """
    undecided = [] if is_open else [each for each in surfaces if is_undecided(each)]
    known = os.environ.get(LISTENING_HOST) if host is None else host
    for surface in undecided:
        for address in _list_reachable(surface, known):
            raise ConfigurationError(
                f"{surface}: {_explain(surface)}, and other machines can reach {address}; {CURE}"
            )
    if undecided and known is None:
        names = ", ".join(each.path or "/" for each in undecided)
        log.warning(
            (
                "callers: nothing identifies those of %s, and this server does not tell its "
                "address: every client that reaches it may call; %s"
            ),
            names,
            CURE,
        )


def describe_callers(surface: Surface, *, is_open: bool = False) -> str:
    """Say who may call a surface."""
    if surface.caller is not None:
        return "users of the app"
    match surface.gate:
        case AuthGate() as gate:
            schemes = " or ".join(surface.security_schemes)
            callers = f"{schemes}, or without credentials" if gate.can_be_anonymous else schemes
        case PlatformGate() as gate:
            callers = f"every client that {gate.name} admits"
        case PresenceGate():
            callers = "every client with any token"
        case OpenGate():
            callers = "every client"
        case _ if is_open:
            callers = "every client"
        case None:
            callers = "every client on this machine"
        case gate:
            callers = type(gate).__name__
    return callers


def log_callers(surfaces: Sequence[Surface], *, is_open: bool) -> None:
    """Log who may call, in one line."""
    listed = [f"{each.path or '/'}: {describe_callers(each, is_open=is_open)}" for each in surfaces]
    log.info("callers: %s", "; ".join(listed))


def _explain(surface: Surface) -> str:
    if isinstance(surface.gate, PresenceGate):
        return 'PresenceGate (auth = "bearer") verifies no token'
    return "nothing identifies its callers"


def _list_reachable(surface: Surface, host: str | None) -> Iterator[str]:
    """List the addresses of a surface at which other machines can reach it."""
    if host is not None and not is_loopback(host):
        yield host or "all addresses"
    port = surface.grpc
    if port is not None and port.open_host is not None and not is_loopback(port.open_host):
        yield f"its {port.name} port {port.address}"

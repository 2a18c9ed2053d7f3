"""Callers of a surface, and the addresses at which one without a gate is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator
from a2a_runtime.auth.gate import AuthGate, OpenGate, PlatformGate, PresenceGate
from a2a_runtime.auth.host import host_user
from a2a_runtime.errors import ConfigurationError
from a2a_runtime.features.grpc.options import GrpcOptions
from a2a_runtime.http.exposure import LISTENING_HOST, check_exposure, describe_callers, is_loopback
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.settings import Settings
from a2a_runtime.surface import Surface

AGENT = Agent("hello", description="Says hello.")
AGENT.add("echo", lambda ctx: ctx.text)
MESH = frozenset({"mesh"})
KEYS = ApiKeyAuthenticator({})
EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing is bound

OPEN_BY_ACCIDENT = {
    "no gate": (Surface(AGENT), "every client on this machine"),
    "no gate, mesh": (Surface(AGENT, dialects=MESH), "every client on this machine"),
    "unverified tokens": (Surface(AGENT, gate=PresenceGate()), "every client with any token"),
}
DECIDED = {
    "keys": (Surface(AGENT, gate=AuthGate(KEYS)), "apiKey"),
    "keys or nothing": (
        Surface(AGENT, gate=AuthGate(KEYS, require=[{"apiKey": []}, {}])),
        "apiKey, or without credentials",
    ),
    "open on purpose": (Surface(AGENT, gate=OpenGate()), "every client"),
    "a platform": (
        Surface(AGENT, gate=PlatformGate("Cloud Run")),
        "every client that Cloud Run admits",
    ),
    "users of a host": (Surface(AGENT, caller=host_user()), "users of the app"),
    "mesh behind a proxy": (
        Surface(AGENT, dialects=MESH, gate=PresenceGate()),
        "every client with any token",
    ),
}


@pytest.mark.parametrize(("surface", "callers"), OPEN_BY_ACCIDENT.values(), ids=OPEN_BY_ACCIDENT)
def test_a_surface_without_a_gate_is_served_on_this_machine_only(
    surface: Surface, callers: str
) -> None:
    """The error names the address and the cure; ``--open`` is an answer too."""
    check_exposure([surface], is_open=False, host="127.0.0.1")
    check_exposure([surface], is_open=True, host=EVERYWHERE)
    with pytest.raises(
        ConfigurationError,
        match=r"other machines can reach 0\.0\.0\.0; set auth in a2a\.toml .* --open",
    ):
        check_exposure([surface], is_open=False, host=EVERYWHERE)
    assert describe_callers(surface) == callers


@pytest.mark.parametrize(("surface", "callers"), DECIDED.values(), ids=DECIDED)
def test_a_surface_whose_callers_are_decided_is_served_everywhere(
    surface: Surface, callers: str
) -> None:
    """The operator or the author has said who may call."""
    check_exposure([surface], is_open=False, host=EVERYWHERE)
    assert describe_callers(surface) == callers


@pytest.mark.parametrize(
    ("address", "is_reachable"),
    [
        ("127.0.0.1:1", False),
        ("localhost:1", False),
        ("[::1]:1", False),
        ("unix:/tmp/a", False),
        ("0.0.0.0:1", True),
        ("[::]:1", True),
    ],
)
def test_a_grpc_port_is_an_address_too(
    address: str,
    is_reachable: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """It is opened by the app, so it is refused under every server, unless every client needs a
    certificate.
    """
    surface = Surface(AGENT, grpc=GrpcOptions(address))
    if is_reachable:
        with pytest.raises(ConfigurationError, match="its gRPC port"):
            check_exposure([surface], is_open=False, host="127.0.0.1")
    else:
        check_exposure([surface], is_open=False, host="127.0.0.1")
    closed = GrpcOptions(
        address, certificate=Path("server.pem"), client_authorities=Path("clients.pem")
    )
    check_exposure([Surface(AGENT, grpc=closed)], is_open=False, host="127.0.0.1")


@pytest.mark.parametrize("host", ["", EVERYWHERE, "::", "192.0.2.1"], ids=repr)
def test_addresses_of_other_machines(host: str) -> None:
    """An address of another machine is not loopback; no host means all addresses."""
    assert not is_loopback(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost"])
def test_addresses_of_this_machine(host: str) -> None:
    """Addresses of this machine are loopback; a name counts by its addresses."""
    assert is_loopback(host)


def list_messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """List what was logged about exposure; other tests of the process may log too."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == "a2a_runtime.http.exposure"
    ]


@pytest.mark.anyio
async def test_another_server_does_not_tell_its_address(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has one warning, and one line with the callers of all surfaces; none if that is
    decided.
    """
    monkeypatch.delenv(LISTENING_HOST, raising=False)
    caplog.set_level("INFO", "a2a_runtime.http.exposure")
    app = create_app(Surface(AGENT), Surface(AGENT, "/keys", gate=AuthGate(KEYS)), store="memory")
    async with app.lifespan():
        warning, callers = list_messages(caplog)
    assert warning.startswith(
        "callers: nothing identifies those of /, and this server does not tell its address"
    )
    assert callers == "callers: /: every client on this machine; /keys: apiKey"
    caplog.clear()
    async with create_app(AGENT, store="memory", settings=Settings(open=True)).lifespan():
        assert list_messages(caplog) == ["callers: /: every client"]


@pytest.mark.anyio
async def test_an_agent_that_is_added_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused as at the start, and accepted with a gate."""
    monkeypatch.setenv(LISTENING_HOST, EVERYWHERE)
    app = create_app(Surface(AGENT, "/keys", gate=AuthGate(KEYS)), store="memory")
    plugin = next(each for each in app.plugins if isinstance(each, A2APlugin))
    later = Agent("later", description="Comes later.")
    later.add("echo", lambda ctx: ctx.text)
    async with app.lifespan():
        with pytest.raises(ConfigurationError, match="other machines can reach 0"):
            await plugin.add(later)
        await plugin.add(later, gate=AuthGate(KEYS))


def test_a_platform_has_a_name() -> None:
    """A gate of a platform without a name is refused, because the log names it."""
    with pytest.raises(ValueError, match="no name; say what authenticates"):
        PlatformGate(" ")

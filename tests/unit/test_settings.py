"""Settings come from the environment, or from the defaults."""

from __future__ import annotations

import pytest

from a2a_runtime.settings import Settings


def test_what_is_not_given_has_its_default() -> None:
    """An empty environment gives the defaults, and foreign variables are no settings."""
    assert Settings.from_environment({"PATH": "/bin", "A2A_TEST_POSTGRES_URL": "x"}) == Settings()


def test_settings_are_read_by_their_names() -> None:
    """Each setting is its name in capitals after a prefix, read as the type it has."""
    given = Settings.from_environment({"A2A_STORE": "sqlite:///a.db", "A2A_SHUTDOWN_GRACE": "2.5", "A2A_STREAM_BUFFER_EVENTS": "16"})
    assert (given.store, given.shutdown_grace, given.stream_buffer_events) == ("sqlite:///a.db", 2.5, 16)


def test_every_wrong_setting_is_named() -> None:
    """An operator hears of all mistakes at once."""
    with pytest.raises(ValueError, match=r"A2A_LEASE_RENEW_INTERVAL='often' is no float; A2A_STREAM_BUFFER_EVENTS='1.5' is no int"):
        Settings.from_environment({"A2A_LEASE_RENEW_INTERVAL": "often", "A2A_STREAM_BUFFER_EVENTS": "1.5"})


WRONG = {
    "A2A_LEASE_RENEW_INTERVAL": "often",
    "A2A_ORPHAN_SCAN_INTERVAL": "0",
    "A2A_SHUTDOWN_GRACE": "nan",
    "A2A_PUSH_MAX_ATTEMPTS": "-1",
    "A2A_STORE_RETRY_TIMEOUT": "inf",
    "A2A_PUSH_CONCURRENCY": "0",
    "A2A_OUTBOUND_PORTS": "443,abc",
    "A2A_OUTBOUND_NETWORKS": "10.0.0.1/8",
}


def test_what_cannot_be_read_and_what_cannot_work_is_named_at_once() -> None:
    """Numbers that would stop the work or make it spin, and lists with what is none; each with what it would have to be."""
    with pytest.raises(ValueError, match="A2A_") as raised:
        Settings.from_environment(WRONG)
    assert str(raised.value).split("; ") == [
        "A2A_LEASE_RENEW_INTERVAL='often' is no float",
        "A2A_SHUTDOWN_GRACE is nan, and must be a finite number of at least 0",
        "A2A_ORPHAN_SCAN_INTERVAL is 0.0, and must be a finite number above 0",
        "A2A_STORE_RETRY_TIMEOUT is inf, and must be a finite number of at least 0",
        "A2A_PUSH_MAX_ATTEMPTS is -1, and must be a finite number above 0",
        "A2A_PUSH_CONCURRENCY is 0, and must be a finite number above 0",
        "A2A_OUTBOUND_NETWORKS: 10.0.0.1/8 has host bits set",
        "A2A_OUTBOUND_PORTS: 'abc' is no port, a number from 1 to 65535",
    ]


@pytest.mark.parametrize("text", ["0", "65536", "-1", "https", "²", "4_4"])
def test_a_port_is_a_port(text: str) -> None:
    """Also for who sets it in Python."""
    with pytest.raises(ValueError, match=r"A2A_OUTBOUND_PORTS: .* is no port"):
        Settings(outbound_ports=f"443,{text}")


SLIPS = {
    "A2A_STROE": "A2A_STORE",
    "A2A_SHUTDOWN_GRACES": "A2A_SHUTDOWN_GRACE",
    "A2A_TEST_POSTGRES_URL": None,
    "A2A_REGISTRY_URL": None,
    "STORE": None,
}


@pytest.mark.parametrize(("name", "meant"), SLIPS.items(), ids=SLIPS.keys())
def test_a_slip_of_the_pen_is_told(caplog: pytest.LogCaptureFixture, name: str, meant: str | None) -> None:
    """It is no error, because others may have variables of this prefix, and its value is not shown."""
    assert Settings.from_environment({name: "hush"}) == Settings()
    assert caplog.messages == ([] if meant is None else [f"{name} is no setting, and is not read; did you mean {meant}?"])


@pytest.mark.parametrize("given", [{"A2A_LEASE_DURATION": "2.9"}, {"A2A_LEASE_RENEW_INTERVAL": "6"}])
def test_a_lease_lasts_for_some_beats(given: dict[str, str]) -> None:
    """Else a process that is late once would lose its tasks while it lives; both settings are named, with what would do."""
    with pytest.raises(ValueError, match=r"A2A_LEASE_DURATION to at least .* A2A_LEASE_RENEW_INTERVAL"):
        Settings.from_environment(given)
    assert Settings.from_environment({"A2A_LEASE_RENEW_INTERVAL": "5", "A2A_LEASE_DURATION": "15"}).lease_duration == 15


def test_settings_show_no_secret() -> None:
    """Whoever prints them shows neither keys nor the password of a database."""
    shown = repr(Settings(store="postgresql://u:hush@db", encryption_keys="hush", signing_keys="hush"))
    assert "hush" not in shown

"""Settings come from the environment, or from the defaults."""

from __future__ import annotations

import pytest

from a2a_runtime.settings import Settings


def test_what_is_not_given_has_its_default() -> None:
    """An empty environment gives the defaults, and foreign variables are no settings."""
    assert Settings.from_environment({"PATH": "/bin", "A2A_TEST_POSTGRES_URL": "x"}) == Settings()


def test_settings_are_read_by_their_names() -> None:
    """Each setting is its name in capitals after a prefix, read as the type it has."""
    given = Settings.from_environment({"A2A_STORE": "sqlite:///a.db", "A2A_SHUTDOWN_GRACE": "2.5", "A2A_STREAM_WINDOW": "16"})
    assert (given.store, given.shutdown_grace, given.stream_window) == ("sqlite:///a.db", 2.5, 16)


def test_every_wrong_setting_is_named() -> None:
    """An operator hears of all mistakes at once."""
    with pytest.raises(ValueError, match=r"A2A_BEAT='often' is no float; A2A_STREAM_WINDOW='1.5' is no int"):
        Settings.from_environment({"A2A_BEAT": "often", "A2A_STREAM_WINDOW": "1.5"})


@pytest.mark.parametrize("given", [{"A2A_LEASE": "2.9"}, {"A2A_BEAT": "6"}, {"A2A_BEAT": "0"}, {"A2A_BEAT": "-1"}, {"A2A_LEASE": "nan"}])
def test_a_lease_lasts_for_some_beats(given: dict[str, str]) -> None:
    """Else a process that is late once would lose its tasks while it lives; both settings are named, with what would do."""
    with pytest.raises(ValueError, match=r"A2A_LEASE to at least .* A2A_BEAT"):
        Settings.from_environment(given)
    assert Settings.from_environment({"A2A_BEAT": "5", "A2A_LEASE": "15"}).lease == 15


def test_settings_show_no_secret() -> None:
    """Whoever prints them shows neither keys nor the password of a database."""
    shown = repr(Settings(store="postgresql://u:hush@db", vault_keys="hush", signing_keys="hush"))
    assert "hush" not in shown

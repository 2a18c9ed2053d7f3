"""Operator settings: their defaults, the environment, and values that cannot work."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from a2a_runtime.features.heartbeat.registration import ENVIRONMENT_NAMES
from a2a_runtime.settings import (
    PREFIX,
    Settings,
    is_secret,
    list_settings,
    read_schema,
    to_variable,
)


def test_settings_have_defaults() -> None:
    """An empty environment gives the defaults, and variables without the prefix are no settings."""
    assert Settings.from_environment({"PATH": "/bin", "STORE": "x"}) == Settings()


def test_settings_are_read_by_name() -> None:
    """The variable of a setting is its name in capitals after a prefix, parsed as the type of its
    field.
    """
    settings = Settings.from_environment(
        {
            "A2A_STORE": "sqlite:///a.db",
            "A2A_SHUTDOWN_GRACE": "2.5",
            "A2A_STREAM_BUFFER_EVENTS": "16",
            "A2A_TUNE_GC": "Off",
            "A2A_OUTBOUND_PORTS": "80, 443",
            "A2A_CORS_ORIGINS": "https://a.example, https://b.example,",
        }
    )
    assert (
        settings.store,
        settings.shutdown_grace,
        settings.stream_buffer_events,
        settings.tune_gc,
    ) == ("sqlite:///a.db", 2.5, 16, False)
    assert (settings.outbound_ports, settings.cors_origins) == (
        (80, 443),
        ("https://a.example", "https://b.example"),
    )


def test_all_problems_are_reported_at_once() -> None:
    """Values that cannot be parsed, misspelled names, numbers that would stop the work or make it
    spin, and bad items of lists.
    """
    environment = {
        "A2A_STROE": "hush",
        "A2A_LEASE_RENEW_INTERVAL": "often",
        "A2A_STREAM_BUFFER_EVENTS": "1.5",
        "A2A_TUNE_GC": "maybe",
        "A2A_ORPHAN_SCAN_INTERVAL": "0",
        "A2A_SHUTDOWN_GRACE": "nan",
        "A2A_PUSH_MAX_ATTEMPTS": "-1",
        "A2A_STORE_RETRY_TIMEOUT": "inf",
        "A2A_PUSH_CONCURRENCY": "0",
        "A2A_OUTBOUND_NETWORKS": "10.0.0.1/8",
        "A2A_OUTBOUND_PORTS": "443,65536",
    }
    with pytest.raises(ValueError, match="A2A_") as raised:
        Settings.from_environment(environment)
    assert str(raised.value).split("; A2A_") == [
        "A2A_STROE: unknown setting; did you mean A2A_STORE?",
        "SHUTDOWN_GRACE: 'nan' is not a number",
        "LEASE_RENEW_INTERVAL: 'often' is not a number",
        "STORE_RETRY_TIMEOUT: 'inf' is not a number",
        "STREAM_BUFFER_EVENTS: '1.5' is not an integer",
        "TUNE_GC: 'maybe' is not a boolean",
        "ORPHAN_SCAN_INTERVAL: is less than or equal to the minimum of 0; use more than 0",
        "OUTBOUND_NETWORKS: not a network; write it like 10.1.0.0/16, without host bits",
        "OUTBOUND_PORTS: is greater than the maximum of 65535; use 65535 or less",
        "PUSH_MAX_ATTEMPTS: is less than or equal to the minimum of 0; use more than 0",
        "PUSH_CONCURRENCY: is less than or equal to the minimum of 0; use more than 0",
    ]


def test_a_mode_of_sqlite_is_one_of_two() -> None:
    """The others could damage the file; the error lists those that there are."""
    assert Settings().sqlite_synchronous == "full"
    with pytest.raises(
        ValueError, match=r"^A2A_SQLITE_SYNCHRONOUS: unknown value; use one of full, normal$"
    ):
        Settings.from_environment({"A2A_SQLITE_SYNCHRONOUS": "off"})


@pytest.mark.parametrize("text", ["443,abc", "-1", "https", "²", "4_4", "0x50"])
def test_ports_are_written_in_digits(text: str) -> None:
    """Python would read some of these as integers."""
    with pytest.raises(ValueError, match=r"^A2A_OUTBOUND_PORTS: "):
        Settings.from_environment({"A2A_OUTBOUND_PORTS": text})


@pytest.mark.parametrize("port", [0, 65536, -1])
def test_ports_are_checked_in_python(port: int) -> None:
    """A number outside of the range of ports is refused."""
    with pytest.raises(
        ValueError, match=r"A2A_OUTBOUND_PORTS: is (less|greater) than the (minimum|maximum)"
    ):
        Settings(outbound_ports=(443, port))


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("A2A_STROE", "A2A_STORE"),
        ("A2A_SHUTDOWN_GRACES", "A2A_SHUTDOWN_GRACE"),
        ("A2A_OUTBOUND_PORT", "A2A_OUTBOUND_PORTS"),
    ],
)
def test_a_misspelled_setting_is_an_error(name: str, suggestion: str) -> None:
    """The error suggests a name and does not show the value."""
    with pytest.raises(
        ValueError, match=f"^{name}: unknown setting; did you mean {suggestion}\\?$"
    ):
        Settings.from_environment({name: "hush"})


def test_other_unknown_variables_are_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    """An orchestrator injects variables after the name of a service, so they are no error; their
    values are not shown.
    """
    environment = {"A2A_SERVICE_HOST": "hush", "A2A_PORT_8000_TCP": "hush", "A2A_DATABASE": "hush"}
    assert Settings.from_environment(environment) == Settings()
    assert caplog.messages == [
        "settings: unknown variables ignored: A2A_DATABASE, A2A_PORT_8000_TCP, A2A_SERVICE_HOST"
    ]


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("A2A_STORE_URL", "A2A_STORE"),
        ("A2A_REGISTRY_URI", "A2A_REGISTRY_URL"),
        ("A2A_CALL_TOKENS", "A2A_CALL_TOKEN"),
        ("A2A_PORT", "A2A_HTTP_PORT"),
    ],
)
def test_an_ignored_variable_is_warned_of_with_the_name_that_it_resembles(
    name: str, suggestion: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is too far from a setting to be an error, or resembles a variable of another part; the
    warning says what may have been meant.
    """
    Settings.from_environment({name: "hush"})
    assert caplog.messages == [
        f"settings: unknown variables ignored: {name} (did you mean {suggestion}?)"
    ]


def test_variables_of_other_parts_are_known(caplog: pytest.LogCaptureFixture) -> None:
    """The mesh config and commands have variables with the same prefix."""
    others = {
        name: "x"
        for names in ENVIRONMENT_NAMES.values()
        for name in names
        if name.startswith(PREFIX)
    }
    assert Settings.from_environment({**others, "A2A_CARD_KEY": "x"}) == Settings()
    assert caplog.messages == []


@pytest.mark.parametrize(
    "environment", [{"A2A_LEASE_DURATION": "2.9"}, {"A2A_LEASE_RENEW_INTERVAL": "6"}]
)
def test_a_lease_lasts_for_some_renewals(environment: dict[str, str]) -> None:
    """One late renewal must not cost a live process its tasks; the error names both settings and a
    value that works.
    """
    with pytest.raises(
        ValueError, match=r"A2A_LEASE_DURATION to at least three times A2A_LEASE_RENEW_INTERVAL"
    ):
        Settings.from_environment(environment)
    assert (
        Settings.from_environment(
            {"A2A_LEASE_RENEW_INTERVAL": "5", "A2A_LEASE_DURATION": "15"}
        ).lease_duration
        == 15
    )


@pytest.mark.parametrize("name", ["doctor", "serve", "worker"])
def test_the_schema_says_which_settings_are_options(name: str) -> None:
    """A command has an option for each setting that its schema marks, with its values and
    description, and none for another.
    """
    command = importlib.import_module(f"a2a_runtime.cli.{name}").command
    marked = {
        setting: facts
        for setting, facts in list_settings().items()
        if name in facts.get("x-a2a-option", ())
    }
    options = {each.name: each for each in command.params if each.name in list_settings()}
    assert {"store", "log_level"} <= marked.keys() == options.keys()
    for setting, facts in marked.items():
        assert facts["description"].replace("`", "").rstrip(".") in options[setting].help
        assert list(getattr(options[setting].type, "choices", ())) == facts.get("enum", [])


def test_settings_show_no_secret() -> None:
    """Their repr holds neither keys nor the password of a database."""
    text = repr(Settings(store="postgresql://u:hush@db", encryption_keys=("hush",)))
    assert "hush" not in text


def test_a_secret_can_be_in_a_file(tmp_path: Path) -> None:
    """The variable of a secret with _FILE at its end names a file; the line break at its end is no
    part of the value.
    """
    secret = tmp_path / "store"
    secret.write_text("postgresql://u:hush@db/x\n")
    assert (
        Settings.from_environment({"A2A_STORE_FILE": str(secret)}).store
        == "postgresql://u:hush@db/x"
    )
    with pytest.raises(
        ValueError, match=r"^A2A_STORE: A2A_STORE_FILE is set too; unset one of them$"
    ):
        Settings.from_environment({"A2A_STORE_FILE": str(secret), "A2A_STORE": "memory"})
    with pytest.raises(
        ValueError,
        match=r"^A2A_STORE: A2A_STORE_FILE cannot be read: .* name a file with the value$",
    ):
        Settings.from_environment({"A2A_STORE_FILE": str(tmp_path / "none")})
    with pytest.raises(
        ValueError, match=r"^A2A_STORE_FIEL: unknown setting; did you mean A2A_STORE_FILE"
    ):
        Settings.from_environment({"A2A_STORE_FIEL": str(secret)})


def test_every_secret_has_a_file(tmp_path: Path) -> None:
    """A setting that the schema marks as a secret is read from its file and hidden in the repr."""
    secret = tmp_path / "secret"
    secret.write_text("hush")
    for name in filter(is_secret, list_settings()):
        assert "hush" not in repr(
            Settings.from_environment({to_variable(name) + "_FILE": str(secret)})
        )


def test_the_schema_lists_the_variables_of_the_mesh() -> None:
    """The variables that only other parts read are in the schema of the settings too."""
    own = {
        name for names in ENVIRONMENT_NAMES.values() for name in names if name.startswith(PREFIX)
    }
    assert own < {
        to_variable(name) for name in read_schema()["$defs"]["OtherVariables"]["properties"]
    }

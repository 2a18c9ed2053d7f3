"""Checks of what is configured: app, settings, generated code, keys."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import click
from litestar import Litestar

from a2a_runtime.cli.diagnosis.findings import Diagnosis, report_error, report_fine, warn
from a2a_runtime.cli.process import load_app
from a2a_runtime.features.project.loader import LOCK_FILE, find_changed_inputs
from a2a_runtime.features.project.surfaces import find_project_file
from a2a_runtime.http.exposure import CURE, describe_callers, is_loopback, is_undecided
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.settings import Settings

MAX_KEY_DAYS = 365
_DAY_SECONDS = 86_400
_OTHERS_CAN_READ = 0o077


def load_plugin(name: str) -> tuple[A2APlugin | None, list[Diagnosis]]:
    """Load an app as a server does, and find its agents."""
    try:
        app = load_app(name)
    except click.ClickException as error:
        return None, [report_error("app", error.format_message())]
    # broad: code of the user runs here, and the other checks go on
    except Exception as error:  # noqa: BLE001
        return None, [
            report_error(
                "app",
                f"{name}: {type(error).__name__}: {error}",
                "run a2a-gen serve --check for the traceback",
            )
        ]
    plugin = None
    if isinstance(app, Litestar):
        plugin = next((each for each in app.plugins if isinstance(each, A2APlugin)), None)
    if plugin is None:
        return None, [
            warn(
                "app",
                f"{name}: no Litestar app with an A2APlugin; its store and card are not looked at",
                "name the Litestar app inside",
            )
        ]
    skills = sum(len(surface.agent.skills) for surface in plugin.surfaces)
    listed = ", ".join(f"{each.agent.name} at {each.path or '/'}" for each in plugin.surfaces)
    return plugin, [report_fine("app", f"{name}: {listed}; skills: {skills}")]


def check_generated_code(folder: Path) -> Iterator[Diagnosis]:
    """Compare the generated package with the files that it was built from."""
    path = find_project_file(folder)
    if path is None or not (path.parent / LOCK_FILE).exists():
        return
    changed = ", ".join(find_changed_inputs(path.parent))
    if changed:
        yield warn("generated code", f"changed since it was built: {changed}", "run a2a-gen build")
    else:
        yield report_fine("generated code", "up to date")


def check_settings(environment: Mapping[str, str]) -> tuple[Settings | None, list[Diagnosis]]:
    """Read the settings of the environment."""
    try:
        settings = Settings.from_environment(environment)
    except ValueError as error:
        return None, [
            report_error(
                "settings", str(error), "correct the variables; docs/serving.md lists all of them"
            )
        ]
    return settings, [report_fine("settings", "all variables are read")]


def check_callers(plugin: A2APlugin) -> Iterator[Diagnosis]:
    """Say who may call each surface; warn of one that is open without having been declared so."""
    is_open = plugin.settings.open
    for surface in plugin.surfaces:
        subject = f"callers of {surface.path or '/'}"
        text = describe_callers(surface, is_open=is_open)
        is_local = is_loopback(urlsplit(surface.configured_url or "").hostname or "")
        if is_open or is_local or not is_undecided(surface):
            yield report_fine(subject, text)
        else:
            yield warn(subject, f"{text}; beyond it a2a-gen serve does not start", CURE)


def check_keys(plugin: A2APlugin, folder: Path) -> Iterator[Diagnosis]:
    """Look at the keys that sign and encrypt: there are some, others cannot read them, they are not
    old.
    """
    settings = plugin.settings
    sends_webhooks = any(each.agent.capabilities.push_notifications for each in plugin.surfaces)
    if sends_webhooks and not settings.encryption_keys:
        text = "none, so tokens of webhooks are stored as they are"
        yield warn(
            "encryption keys",
            text,
            "set A2A_ENCRYPTION_KEYS_FILE; SecretBox.generate_key() makes one",
        )
    elif settings.encryption_keys:
        yield report_fine(
            "encryption keys", f"{len(settings.encryption_keys)}; the first one encrypts"
        )
    if not settings.signing_keys:
        yield warn(
            "signing keys",
            "none, so cards and webhooks are not signed",
            "run a2a-gen card keygen FILE and set A2A_SIGNING_KEYS=FILE",
        )
    for number, name in enumerate(settings.signing_keys):
        yield from _check_key_file(folder / name, is_first=number == 0)


def _check_key_file(path: Path, *, is_first: bool) -> Iterator[Diagnosis]:
    try:
        status = path.stat()
    except OSError as error:
        yield report_error(
            "signing keys",
            f"{path}: {(error.strerror or 'unreadable').lower()}",
            "correct A2A_SIGNING_KEYS",
        )
        return
    if status.st_mode & _OTHERS_CAN_READ:
        yield warn("signing keys", f"{path}: other users can read it", f"run chmod 600 {path}")
    days = int((time.time() - status.st_mtime) // _DAY_SECONDS)
    if is_first and days > MAX_KEY_DAYS:
        fix = (
            "rotate it: put a new file first in A2A_SIGNING_KEYS, and keep this one after it "
            "until receivers have read the new key set"
        )
        yield warn("signing keys", f"{path}: signs since {days} days", fix)
    else:
        use = "signs" if is_first else "published"
        yield report_fine("signing keys", f"{path}: {days} days old, {use}")

"""``a2a-gen doctor``: what is wrong with a deployment, each with its cure."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import click
from pydantic_core import to_json

from a2a_runtime.base.importing import explain_missing

with explain_missing("a2a-gen doctor", "litestar"):
    from a2a_runtime.cli.diagnosis.address import check_address, check_configured_url
    from a2a_runtime.cli.diagnosis.findings import (
        Diagnosis,
        FindingLevel,
        report_error,
        to_exit_code,
    )
    from a2a_runtime.cli.diagnosis.project import (
        check_callers,
        check_generated_code,
        check_keys,
        check_settings,
        load_plugin,
    )
    from a2a_runtime.cli.diagnosis.store import check_store
    from a2a_runtime.cli.process import PROJECT_APP, process_options
    from a2a_runtime.cli.terminal.text import to_safe_line
    from a2a_runtime.features.project.loader import ProjectConfigError, read_store_setting
    from a2a_runtime.plugin import A2APlugin

_EXAMPLES = """\b
Examples:
  a2a-gen doctor                                  the agent of the a2a.toml in this folder or above
  a2a-gen doctor agent:app --env-file .env        an app, with the environment of its service
  a2a-gen doctor --url https://agent.example      also the card there, as clients see it
  a2a-gen doctor --json | jq '.findings[] | select(.level != "ok")'

\b
Exit codes: 0 nothing is wrong (warnings are allowed, unless --strict),
1 the configuration is wrong, 2 something that it names does not answer."""
_COLORS = {
    FindingLevel.OK: "green",
    FindingLevel.WARNING: "yellow",
    FindingLevel.CONFIGURATION: "red",
    FindingLevel.OUTAGE: "red",
}


@click.command(epilog=_EXAMPLES)
@click.argument("app", default=PROJECT_APP)
@process_options("doctor")
@click.option(
    "--url",
    "urls",
    multiple=True,
    help="Public address of an agent, to read its card there. [default: the configured address]",
)
@click.option("--offline", is_flag=True, help="Do not read cards.")
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def command(
    context: click.Context,
    app: str,
    urls: tuple[str, ...],
    *,
    offline: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Look at a deployment and say what is wrong.

    Checks the app or project, the environment, generated code, keys, the store with its schema,
    clock and notifications, and the public address with the card there. Nothing is changed, except
    that a SQLite file that does not exist is created.
    """
    findings = asyncio.run(_diagnose(app, urls, is_offline=offline))
    if as_json:
        click.echo(to_json({"findings": [each.to_dict() for each in findings]}, indent=2))
    else:
        for each in findings:
            _print_finding(each)
    context.exit(to_exit_code(findings, is_strict=strict))


async def _diagnose(name: str, urls: tuple[str, ...], *, is_offline: bool) -> list[Diagnosis]:
    folder = Path.cwd()
    settings, findings = check_settings(os.environ)
    plugin, about_app = load_plugin(name) if settings else (None, [])
    findings += [*about_app, *check_generated_code(folder)]
    if plugin is not None:
        findings += check_callers(plugin)
        findings += check_keys(plugin, folder)
    findings += [each async for each in _check_store(plugin, folder)]
    if plugin:
        for surface in plugin.surfaces:
            findings += check_configured_url(surface)
    if not is_offline:
        findings += [each async for each in _check_addresses(plugin, urls)]
    return findings


async def _check_store(plugin: A2APlugin | None, folder: Path) -> AsyncIterator[Diagnosis]:
    """Check the store of the app; that of the environment or the project file if there is no
    app.
    """
    try:
        if plugin:
            url = plugin.store_url
        else:
            url = os.environ.get("A2A_STORE") or read_store_setting(folder)
    except ProjectConfigError as error:
        yield report_error("store", str(error))
        return
    if url is not None:
        async for finding in check_store(url):
            yield finding


async def _check_addresses(
    plugin: A2APlugin | None, urls: tuple[str, ...]
) -> AsyncIterator[Diagnosis]:
    """Check the given addresses, else the configured ones."""
    surfaces = plugin.surfaces if plugin else ()
    by_url = {each.configured_url: each for each in surfaces if each.configured_url}
    for url in urls or by_url:
        surface = by_url.get(url) or (surfaces[0] if len(surfaces) == 1 else None)
        async for finding in check_address(url, surface):
            yield finding


def _print_finding(finding: Diagnosis) -> None:
    """Print a finding, and its cure in the next line."""
    level = click.style(f"{finding.level.value:8}", fg=_COLORS[finding.level])
    click.echo(
        f"{level} {to_safe_line(finding.subject)}: {to_safe_line(finding.text)}",
        color=_has_colors(),
    )
    if finding.fix:
        click.echo(f"{'':8} fix: {to_safe_line(finding.fix)}")


def _has_colors() -> bool | None:
    if os.environ.get("NO_COLOR"):
        return False
    return None

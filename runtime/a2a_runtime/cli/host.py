"""``litestar a2a …``: the agents of an app, on the command line of its host.

litestar --app shop:app a2a agents              where they are, what they speak, who may call them
litestar --app shop:app a2a card /agent         the card that clients read
litestar --app shop:app a2a check               open the store, as the start does
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import click

from a2a_runtime.errors import StoreUnavailableError, UnsupportedStoreError
from a2a_runtime.http.exposure import describe_callers
from a2a_runtime.service.cards.cache import CardCache
from a2a_runtime.surface import Surface

_EXAMPLES = """\b
Examples:
  litestar --app shop:app a2a agents
  litestar --app shop:app a2a card /agent --url https://shop.example"""


def build_group(
    get_surfaces: Callable[[], Sequence[Surface]], check_store: Callable[[], Awaitable[object]]
) -> click.Group:
    """Build the commands of an app."""

    @click.group(name="a2a", epilog=_EXAMPLES)
    def group() -> None:
        """Show and check the agents of the app."""

    @group.command()
    def agents() -> None:
        """List the agents: path, name, version, dialects, number of skills, callers."""
        rows = [
            ("PATH", "AGENT", "VERSION", "DIALECTS", "SKILLS", "CALLERS"),
            *map(_describe, get_surfaces()),
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            click.echo(
                "  ".join(
                    text.ljust(width) for text, width in zip(row, widths, strict=True)
                ).rstrip()
            )

    @group.command()
    @click.argument("path", required=False)
    @click.option(
        "--url",
        default="http://127.0.0.1:8000",
        show_default=True,
        help="URL of the app, for agents without one of their own.",
    )
    def card(path: str | None, url: str) -> None:
        """Print the card of the agent at PATH; without one, of the only agent."""
        surfaces = get_surfaces()
        found = [each for each in surfaces if path is None or each.path == path.rstrip("/")]
        if len(found) != 1:
            problem = "not a path of an agent" if path else "the app has several agents"
            raise click.UsageError(f"PATH: {problem}; use one of {_list_paths(surfaces)}")
        cache = CardCache(found[0])
        dialect = None if cache.has_shared else next(iter(found[0].dialects))
        click.echo(cache.get(dialect, url.rstrip("/") + found[0].path).body.decode())

    @group.command()
    def check() -> None:
        """Open the store and compare its schema version; exit with 1 if the agents could not start
        on it.
        """
        try:
            asyncio.run(_run(check_store))
        except (StoreUnavailableError, UnsupportedStoreError) as error:
            raise click.ClickException(str(error)) from error
        click.echo("The store can be used.")

    return group


async def _run(function: Callable[[], Awaitable[object]]) -> None:
    await function()


def _list_paths(surfaces: Sequence[Surface]) -> str:
    return ", ".join(each.path or "/" for each in surfaces)


def _describe(surface: Surface) -> tuple[str, ...]:
    skills = "from sources" if surface.agent.sources else str(len(surface.skills))
    dialects = ", ".join(sorted(surface.dialects, reverse=True))
    return (
        surface.path or "/",
        surface.agent.name,
        surface.agent.version,
        dialects,
        skills,
        describe_callers(surface),
    )

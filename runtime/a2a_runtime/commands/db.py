"""``a2a-gen db``: the store from an operator's side, for every caller at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import click

from a2a_contract.errors import A2AError
from a2a_contract.lifecycle import State
from a2a_runtime.caller import SurfaceKey, TaskScope
from a2a_runtime.clock import to_millis, to_rfc3339
from a2a_runtime.commands import CommandError
from a2a_runtime.project.loader import ProjectConfigError, read_store_setting
from a2a_runtime.settings import PREFIX
from a2a_runtime.stores.base import Store, StoredTask, TaskQuery
from a2a_runtime.stores.factory import create_store

T = TypeVar("T")

_PAGE_SIZE = 100
_EXAMPLES = """\b
Examples:
  a2a-gen db upgrade --store postgresql://agent@db/agent
  a2a-gen db tasks list --owner ada --state working
  a2a-gen db tasks delete --owner ada --all"""


@dataclass(frozen=True, slots=True)
class StoreSelection:
    """Which store, and whose part of it; what is ``None`` means everybody's."""

    url: str
    surface: str | None
    tenant: str | None
    owner: str | None

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[tuple[Store, list[TaskScope]]]:
        """Open the store beside the process that runs on it, and find the scopes that are meant."""
        store = create_store(self.url, attach=True)
        await store.open()
        try:
            yield store, [scope for scope in await store.list_scopes() if self._matches(scope)]
        finally:
            await store.close()

    def _matches(self, scope: TaskScope) -> bool:
        wanted = ((self.surface, (scope.surface, *SurfaceKey.from_text(scope.surface))), (self.tenant, (scope.tenant,)), (self.owner, (scope.owner,)))
        return all(wish is None or wish in found for wish, found in wanted)


@click.group(epilog=_EXAMPLES)
def command() -> None:
    """Look after the store of an agent."""


@command.group()
def tasks() -> None:
    """Look at tasks, and delete them."""


@command.group()
def contexts() -> None:
    """Delete conversations."""


def _selection_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say which store and whose part of it."""
    surface = "Only of the surface at this path, or of this agent."
    for name, text in (("owner", "Only of this caller."), ("tenant", "Only of this tenant."), ("surface", surface)):
        function = click.option(f"--{name}", help=text)(function)
    return _store_option(function)


def _store_option(function: Callable[..., None]) -> Callable[..., None]:
    text = "Address of the store; without it, that of the a2a.toml here."
    return click.option("--store", "url", envvar=f"{PREFIX}STORE", show_envvar=True, help=text, callback=_resolve_url)(function)


def _resolve_url(ctx: click.Context, param: click.Parameter, said: str | None) -> str:
    """Find the store that is meant."""
    try:
        address = said or read_store_setting(Path.cwd())
    except ProjectConfigError as error:
        raise CommandError(str(error)) from error
    if address is None:
        raise click.MissingParameter("say it here, in the environment, or as store in an a2a.toml", ctx, param)
    return address


@command.command()
@_store_option
def upgrade(url: str) -> None:
    """Bring the schema of the store to the version that this release needs."""

    async def work() -> str:
        if url.startswith("postgres"):
            from a2a_runtime.stores.postgres import upgrade as upgrade_postgres  # noqa: PLC0415 - its driver is loaded only where it is used

            applied = await upgrade_postgres(url)
            return f"applied {', '.join(map(str, applied))}" if applied else "up to date"
        store = create_store(url)  # a file is upgraded by whoever opens it first
        await store.open()
        await store.close()
        return "up to date"

    click.echo(_run(work()))


@tasks.command("list")
@_selection_options
@click.option("--state", type=click.Choice([state.name.lower() for state in State]), help="Only in this state.")
@click.option("--context", help="Only of this conversation.")
@click.option("--limit", default=50, show_default=True, help="At most so many.")
def list_tasks(url: str, surface: str | None, tenant: str | None, owner: str | None, **which: str | int | None) -> None:
    """List tasks, newest status first within each caller: id, state, skill, when, caller."""

    async def work() -> list[StoredTask]:
        state, limit = which["state"], int(which["limit"] or 0)
        found: list[StoredTask] = []
        async with StoreSelection(url, surface, tenant, owner).open() as (store, scopes):
            for scope in scopes:
                query = TaskQuery(
                    str(which["context"]) if which["context"] else None, State[str(state).upper()] if state else None, page_size=_PAGE_SIZE
                )
                found += await _list_tasks(store, scope, query, limit - len(found))
        return found

    for task in _run(work()):
        when = to_rfc3339(to_millis(task.updated_at))
        scope = task.scope
        click.echo(f"{task.wire_id}\t{task.state.name.lower()}\t{task.skill}\t{when}\t{scope.surface}\t{scope.tenant}\t{scope.owner}")


@tasks.command()
@_selection_options
@click.argument("task_id")
def show(url: str, surface: str | None, tenant: str | None, owner: str | None, task_id: str) -> None:
    """Print a task as JSON."""

    async def work(store: Store, scope: TaskScope) -> StoredTask | None:
        return await store.load_task(scope, task_id)

    for task in _run(_run_for_scopes(StoreSelection(url, surface, tenant, owner), work)):
        click.echo(task.task.json)


@tasks.command("delete")
@_selection_options
@click.argument("task_ids", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Delete all tasks and conversations of the named callers.")
def delete_tasks(url: str, surface: str | None, tenant: str | None, owner: str | None, task_ids: tuple[str, ...], *, everything: bool) -> None:
    """Delete tasks by their ids, or everything that callers have."""
    place = StoreSelection(url, surface, tenant, owner)
    if bool(task_ids) is everything:
        raise click.UsageError("name tasks by their ids, or say --all")
    if everything and surface is None and tenant is None and owner is None:
        raise click.UsageError("--all needs --owner, --tenant or --surface")

    async def work(store: Store, scope: TaskScope) -> int:
        if everything:
            return await store.delete_scope(scope)
        return sum([await store.delete_task(scope, task_id) for task_id in task_ids])

    _print_deleted(_run(_run_for_scopes(place, work)))


@contexts.command("delete")
@_selection_options
@click.argument("context_id")
def delete_contexts(url: str, surface: str | None, tenant: str | None, owner: str | None, context_id: str) -> None:
    """Delete a conversation with all of its tasks."""

    async def work(store: Store, scope: TaskScope) -> int:
        return await store.delete_context(scope, context_id)

    _print_deleted(_run(_run_for_scopes(StoreSelection(url, surface, tenant, owner), work)))


async def _list_tasks(store: Store, scope: TaskScope, query: TaskQuery, limit: int) -> list[StoredTask]:
    found: list[StoredTask] = []
    token = ""
    while len(found) < limit:
        page = await store.list_tasks(scope, replace(query, page_token=token))
        found += page.tasks
        token = page.next_page_token
        if not token:
            break
    return found[: max(limit, 0)]


async def _run_for_scopes(selection: StoreSelection, work: Callable[[Store, TaskScope], Awaitable[T | None]]) -> list[T]:
    """Do something for each of the scopes that are meant, and keep what came of it."""
    async with selection.open() as (store, scopes):
        results = [await work(store, scope) for scope in scopes]
    found = [result for result in results if result]
    if not found:
        raise click.ClickException("nothing found")
    return found


def _print_deleted(counts: list[int]) -> None:
    click.echo(f"deleted {sum(counts)}", err=True)


def _run(work: Awaitable[T]) -> T:
    async def awaited() -> T:
        return await work

    try:
        return asyncio.run(awaited())
    except A2AError as error:
        raise CommandError(str(error)) from error

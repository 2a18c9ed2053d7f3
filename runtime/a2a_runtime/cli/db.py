"""``a2a-gen db``: commands of an operator on a task store, over all scopes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from a2a_contract.errors import A2AError
from a2a_contract.lifecycle import State
from a2a_runtime.base.caller import SurfaceKey, TaskScope
from a2a_runtime.base.clock import to_rfc3339
from a2a_runtime.base.importing import explain_missing
from a2a_runtime.cli import CommandError
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.features.project.loader import ProjectConfigError, read_store_setting
from a2a_runtime.settings import PREFIX
from a2a_runtime.stores.address import hide_secrets
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.factory import create_store, is_object_name, to_plain_url
from a2a_runtime.stores.models import StoredTask, TaskQuery
from a2a_runtime.stores.optional import MaintainedStore
from a2a_runtime.stores.sqlite.connection import read_file_version
from a2a_runtime.stores.sqlite.store import SqliteStore

T = TypeVar("T")

_PAGE_SIZE = 100
_EXAMPLES = """\b
Examples:
  a2a-gen db upgrade --store postgresql://agent@db/agent
  a2a-gen db upgrade --sql > upgrade.sql    statements for an operator who runs them
  a2a-gen db check --store sqlite:///tasks.db
  a2a-gen db tasks list --owner ada --state working
  a2a-gen db tasks delete --owner ada --all
  a2a-gen db forget --owner ada             erase a person, also from the free space of the file"""


@dataclass(frozen=True, slots=True)
class StoreSelection:
    """A store, and filters of its scopes; ``None`` selects all."""

    url: str
    surface: str | None
    tenant: str | None
    owner: str | None

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[tuple[Store, list[TaskScope]]]:
        """Open the store beside the process that runs on it, and list the selected scopes."""
        store = create_store(self.url, attach=True)
        await store.open()
        try:
            scopes = await store.list_scopes()
            yield store, [scope for scope in scopes if self._matches(scope)]
        finally:
            await store.close()

    def _matches(self, scope: TaskScope) -> bool:
        filters = (
            (self.surface, (scope.surface, *SurfaceKey.from_text(scope.surface))),
            (self.tenant, (scope.tenant,)),
            (self.owner, (scope.owner,)),
        )
        return all(value is None or value in found for value, found in filters)

    def run(self, work: Callable[[Store, TaskScope], Awaitable[T | None]]) -> list[T]:
        """Run a function for each selected scope, and return its results that are not empty."""

        async def run_for_scopes() -> list[T]:
            async with self.open() as (store, scopes):
                results = [await work(store, scope) for scope in scopes]
            return [result for result in results if result]

        found = _run(run_for_scopes())
        if not found:
            raise click.ClickException(
                "store: nothing found; check --owner, --tenant and --surface"
            )
        return found


@click.group(epilog=_EXAMPLES)
def command() -> None:
    """Manage a task store."""


@command.group()
def tasks() -> None:
    """List, show and delete tasks."""


@command.group()
def contexts() -> None:
    """Delete conversations."""


def _selection_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a ``StoreSelection``, and pass it as ``selection``."""

    @wraps(function)
    def select(
        url: str, surface: str | None, tenant: str | None, owner: str | None, **options: object
    ) -> None:
        function(selection=StoreSelection(url, surface, tenant, owner), **options)

    decorated: Callable[..., None] = select
    surface = "Only tasks of the surface at this path, or of this agent."
    for name, text in (
        ("owner", "Only tasks of this caller."),
        ("tenant", "Only tasks of this tenant."),
        ("surface", surface),
    ):
        decorated = click.option(f"--{name}", help=text)(decorated)
    return _store_option(decorated)


def _store_option(function: Callable[..., None]) -> Callable[..., None]:
    text = "URL of the store. [default: the one of the a2a.toml here]"
    return click.option(
        "--store",
        "url",
        envvar=f"{PREFIX}STORE",
        show_envvar=True,
        help=text,
        callback=_resolve_url,
    )(function)


def _resolve_url(ctx: click.Context, _param: click.Parameter, value: str | None) -> str:
    try:
        url = value or read_store_setting(Path.cwd())
    except ProjectConfigError as error:
        raise CommandError(str(error)) from error
    if url is None:
        raise click.UsageError(
            f"--store: not given; pass it, or set {PREFIX}STORE, or store in an a2a.toml", ctx
        )
    if is_object_name(url):
        raise click.UsageError(
            (
                f"--store: {url!r} is a store of your own; use its own tools, or give the URL of "
                "a SQLite file or of Postgres"
            ),
            ctx,
        )
    return to_plain_url(url)


@command.command()
@_store_option
@click.option(
    "--dry-run", is_flag=True, help="Print the versions that would be applied, and change nothing."
)
@click.option(
    "--sql",
    is_flag=True,
    help="Print the statements instead of executing them; without the tables of workers.",
)
def upgrade(url: str, *, dry_run: bool, sql: bool) -> None:
    """Upgrade the schema of the store to the version of this release, with the tables of workers
    where the extra `workers` is installed.

    The previous release can run on the upgraded schema: upgrade it first, then the processes.
    """
    if dry_run or sql:
        click.echo(_run(_describe_upgrade(url, as_sql=sql)))
        return

    async def upgrade_schema() -> str:
        if _is_postgres(url):
            postgres = _import_postgres()
            applied = [*map(str, await postgres.upgrade(url)), *await postgres.upgrade_queue(url)]
            if applied:
                return f"applied {', '.join(applied)}"
            return "up to date"
        # opening a file upgrades it
        store = create_store(url)
        await store.open()
        await store.close()
        return "up to date"

    click.echo(_run(upgrade_schema()))


@command.command()
@_store_option
def status(url: str) -> None:
    """Show the version of the schema; exit with 1 if this release needs a newer one in Postgres.

    A file is upgraded when an agent starts on it.
    """
    if not _is_postgres(url):
        click.echo(_describe_file(url))
        return
    postgres = _import_postgres()
    version = _run(postgres.read_version(url))
    click.echo(_describe_version(version, postgres.REQUIRED_VERSION))
    if version < postgres.REQUIRED_VERSION:
        raise click.ClickException(f"store: schema {version} is too old; run a2a-gen db upgrade")


def _describe_version(version: int, required: int) -> str:
    if version == required:
        return f"up to date: schema {version}, as this release needs"
    return f"schema {version}, this release needs {required}"


def _describe_file(url: str) -> str:
    """Describe the schema of a SQLite file, which is only read."""
    store = create_store(url, attach=True)
    if not isinstance(store, SqliteStore):
        return "the store ends with its process, and has no schema"
    if not store.path.exists():
        return f"{store.path}: not there; the agent creates it at its first start"
    try:
        version, required = read_file_version(store.path)
    except StoreUnavailableError as error:
        raise CommandError(str(error)) from error
    return f"{store.path}: {_describe_version(version, required)}"


async def _describe_upgrade(url: str, *, as_sql: bool) -> str:
    """Describe the upgrade of a Postgres store that would be made now."""
    if not _is_postgres(url):
        raise click.UsageError(
            "--dry-run, --sql: a file is upgraded when it is opened; use them with a Postgres store"
        )
    postgres = _import_postgres()
    version = await postgres.read_version(url)
    if as_sql:
        return postgres.render_upgrade(version) or "-- up to date"
    missing = [str(number) for number in range(version + 1, postgres.REQUIRED_VERSION + 1)]
    if missing:
        return f"would apply {', '.join(missing)}"
    return "up to date"


def _is_postgres(url: str) -> bool:
    return url.startswith("postgres")


def _import_postgres() -> ModuleType:
    with explain_missing("store"):
        # imported only here: the driver is loaded only if it is needed
        from a2a_runtime.features import postgres  # noqa: PLC0415
    return postgres


@command.command()
@_store_option
def check(url: str) -> None:
    """Check the store and correct its totals.

    Checks the structure of a SQLite file, and counts all tasks: totals of lists that are wrong are
    corrected. The agent may run meanwhile.
    """

    async def check_store(store: MaintainedStore) -> tuple[Sequence[str], int]:
        return await store.find_damage(), await store.correct_totals()

    damage, corrected = _maintain(url, check_store)
    result = f"{corrected} corrected" if corrected else "right"
    click.echo(f"totals: {result}")
    if damage:
        raise CommandError(
            f"{hide_secrets(url)}: damaged ({'; '.join(damage)}); stop the agent, keep a "
            "copy, then restore a backup"
        )


@command.command()
@_store_option
def vacuum(url: str) -> None:
    """Shrink the store after a large deletion.

    Writes a SQLite file anew without the space of deleted tasks, which new tasks would use
    otherwise; stop the agent first. In Postgres it makes that space free for new rows while the
    agent runs, and the files keep their size.
    """
    _maintain(url, lambda store: store.vacuum())


def _maintain(url: str, work: Callable[[MaintainedStore], Awaitable[T]]) -> T:
    """Run a function on a store that outlives its process."""
    store = create_store(url, attach=True)
    if not isinstance(store, MaintainedStore):
        raise click.UsageError(
            f"--store: {hide_secrets(url)!r} ends with its process; give the URL of a file "
            "or a database"
        )

    async def maintain() -> T:
        await store.open()
        try:
            return await work(store)
        finally:
            await store.close()

    return _run(maintain())


@command.command()
@_selection_options
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask before.")
def forget(selection: StoreSelection, *, is_confirmed: bool) -> None:
    """Erase everything of a caller.

    Deletes the tasks of --owner, running ones too, with their messages, events, results and
    webhooks, the conversations, and their totals. Then the space is rewritten: stop an agent on a
    SQLite file first. Files of Postgres keep old bytes until they are overwritten, see
    docs/serving.md.
    """
    if selection.owner is None:
        raise click.UsageError("--owner: not given; name the caller to erase")
    if not is_confirmed:
        click.confirm(
            f"Erase everything of {selection.owner!r} in {hide_secrets(selection.url)}?",
            abort=True,
            err=True,
        )

    async def delete_scopes() -> tuple[int, int]:
        async with selection.open() as (store, scopes):
            deleted = 0
            for scope in scopes:
                deleted += await store.delete_scope(scope)
            return len(scopes), deleted

    scopes, deleted = _run(delete_scopes())
    try:
        _maintain(selection.url, lambda store: store.vacuum())
    except CommandError as error:
        fix = "stop the agent and run a2a-gen db vacuum"
        raise CommandError(
            f"store: {deleted} tasks deleted, and their bytes may still be in the file; "
            f"{fix} ({error.message})"
        ) from error
    noun = "scope" if scopes == 1 else "scopes"
    click.echo(f"erased {selection.owner}: {deleted} tasks in {scopes} {noun}", err=True)


@tasks.command("list")
@_selection_options
@click.option(
    "--state",
    type=click.Choice([state.name.lower() for state in State]),
    help="Only tasks in this state.",
)
@click.option("--context", help="Only tasks of this conversation.")
@click.option("--limit", default=50, show_default=True, help="Maximum number of tasks.")
def list_tasks(
    selection: StoreSelection, state: str | None, context: str | None, limit: int
) -> None:
    """List tasks.

    Prints id, state, skill, time and caller of each, newest status first for each caller.
    """
    wanted = State[state.upper()] if state else None
    query = TaskQuery(context or None, wanted, page_size=_PAGE_SIZE)

    async def list_all() -> list[StoredTask]:
        found: list[StoredTask] = []
        async with selection.open() as (store, scopes):
            for scope in scopes:
                found += await _list_tasks(store, scope, query, limit - len(found))
        return found

    for task in _run(list_all()):
        scope = task.scope
        updated_at = to_rfc3339(task.status_at)
        cells = (
            task.wire_id,
            task.state.name.lower(),
            task.skill,
            updated_at,
            scope.surface,
            scope.tenant,
            scope.owner,
        )
        click.echo("\t".join(map(str, cells)))


@tasks.command()
@_selection_options
@click.argument("task_id")
def show(selection: StoreSelection, task_id: str) -> None:
    """Print a task as JSON."""
    for task in selection.run(lambda store, scope: store.load_task(scope, task_id)):
        click.echo(task.task.json)


@tasks.command("delete")
@_selection_options
@click.argument("task_ids", nargs=-1)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Delete all tasks and conversations of the selected callers.",
)
def delete_tasks(selection: StoreSelection, task_ids: tuple[str, ...], *, everything: bool) -> None:
    """Delete tasks of callers.

    Deletes the tasks with the given ids, or all tasks and conversations of the selected callers.
    """
    if bool(task_ids) is everything:
        raise click.UsageError("TASK_IDS: not given; give the ids of tasks, or --all")
    if everything and (selection.surface, selection.tenant, selection.owner) == (None, None, None):
        raise click.UsageError("--all: no caller selected; add --owner, --tenant or --surface")

    async def delete(store: Store, scope: TaskScope) -> int:
        if everything:
            return await store.delete_scope(scope)
        deleted = 0
        for task_id in task_ids:
            deleted += await store.delete_task(scope, task_id)
        return deleted

    _print_deleted(selection.run(delete))


@contexts.command("delete")
@_selection_options
@click.argument("context_id")
def delete_contexts(selection: StoreSelection, context_id: str) -> None:
    """Delete a conversation with all its tasks."""
    _print_deleted(selection.run(lambda store, scope: store.delete_context(scope, context_id)))


async def _list_tasks(
    store: Store, scope: TaskScope, query: TaskQuery, limit: int
) -> list[StoredTask]:
    found: list[StoredTask] = []
    while len(found) < limit:
        page = await store.list_tasks(scope, query)
        found += page.tasks
        if not page.next_page_token:
            break
        query = replace(query, page_token=page.next_page_token)
    return found[: max(limit, 0)]


def _print_deleted(counts: list[int]) -> None:
    click.echo(f"deleted {sum(counts)}", err=True)


def _run(work: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(work)
    except A2AError as error:
        raise CommandError(str(error)) from error

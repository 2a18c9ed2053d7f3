"""The Postgres store beyond the contract: its schema, its server, concurrent callers and
processes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.errors import StoreUnavailableError, UnsupportedStoreError
from a2a_runtime.features.postgres import PoolSettings, PostgresStore, schema, upgrade
from a2a_runtime.features.postgres.base import SQL
from a2a_runtime.features.postgres.pool import Pool
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.models import TaskChange, TaskQuery
from a2a_runtime.testing.clock import FakeClock
from a2a_runtime.testing.embedded_postgres import DatabaseFactory
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    append_artifact,
    build_new_task,
    create_task,
    load_task,
    to_comparable,
)

pytestmark = pytest.mark.anyio

SLOW = "SELECT 1 AS n FROM pg_sleep($1)"
FILL = """INSERT INTO a2a_tasks (key, scope, wire_id, context_id, skill, dialect,
    state, state_before, is_active, status, status_at, metadata)
SELECT gen_random_uuid(), 'one', gen_random_uuid()::text, 'c', 's', 'd',
    'x', 'x', false, '', 0, ''
FROM generate_series(1, $1::integer)"""
LIVES = (
    [State.COMPLETED],
    [State.WORKING, State.FAILED],
    [State.INPUT_REQUIRED, State.SUBMITTED, State.COMPLETED],
    [State.AUTH_REQUIRED, State.CANCELED],
)
BY_KEY = ("update_task", "load_head", "lock_metadata", "put_config", "delete_config")
BY_NAME = (
    "create_task",
    "load_task",
    "get_version",
    "lock_task",
    "request_cancel",
    "load_config",
    "list_configs",
    "list_failed_configs",
)
INDEX_OF = dict.fromkeys(BY_KEY, "a2a_tasks_pkey") | dict.fromkeys(BY_NAME, "a2a_tasks_called")


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    """Create a store with the system clock."""
    store = PostgresStore(postgres_url)
    await store.open()
    yield store
    await store.close()


# --- the schema -----------------------------------------------------------------------------------


async def test_an_old_schema_is_refused_with_the_command(
    postgres_databases: DatabaseFactory,
) -> None:
    """The error contains the command, and the store works after it."""
    url = await postgres_databases.create_empty()
    store = PostgresStore(url)
    with pytest.raises(UnsupportedStoreError, match=r"at version 0, .*a2a-gen db upgrade"):
        await store.open()
    assert await upgrade(url) == list(schema.MIGRATIONS)
    await store.open()
    await store.close()


async def test_concurrent_upgrades_apply_each_version_once(
    postgres_databases: DatabaseFactory,
) -> None:
    """One process applies all versions, the others none."""
    url = await postgres_databases.create_empty()
    applied = await asyncio.gather(*(upgrade(url) for _ in range(5)))
    assert sorted(applied) == [[], [], [], [], list(schema.MIGRATIONS)]


async def test_a_newer_schema_is_accepted(postgres_url: str, pool: Pool) -> None:
    """The previous release still starts after the upgrade, and its own upgrade changes nothing."""
    await pool.fetch("INSERT INTO a2a_schema (version) VALUES ($1)", schema.REQUIRED_VERSION + 1)
    assert await upgrade(postgres_url) == []
    store = PostgresStore(postgres_url)
    await store.open()
    await store.close()


# --- the server -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        pytest.param(
            "postgresql://unknown@127.0.0.1:1/none",
            r"127\.0\.0\.1:1/none: unavailable",
            id="no-server",
        ),
        pytest.param(
            "postgresql://me:secret@127.0.0.1:1/none",
            r"postgresql://127",
            id="no-password-in-the-message",
        ),
    ],
)
async def test_a_missing_server_is_an_error_with_its_address(url: str, pattern: str) -> None:
    """Opening fails at once, with a fix."""
    with pytest.raises(StoreUnavailableError, match=pattern) as caught:
        await PostgresStore(url).open()
    assert "secret" not in str(caught.value)


async def test_a_store_must_be_open() -> None:
    """A call before ``open`` is an error with a fix."""
    with pytest.raises(StoreUnavailableError, match=r"call open\(\)"):
        await PostgresStore("postgresql:///x").get_version(SCOPE, "any")


async def test_an_exhausted_pool_is_an_error_with_a_fix(postgres_url: str) -> None:
    """The error names the setting to raise; the pool works again when a connection is free."""
    pool = Pool(postgres_url, PoolSettings(size=1))
    await pool.open()
    pool._settings = replace(pool._settings, acquire_seconds=0.2)  # connecting may take longer
    async with pool.connection():
        with pytest.raises(StoreUnavailableError, match=r"raise the size of the pool \(now 1\)"):
            await pool.fetch("SELECT 1")
    assert await pool.fetch("SELECT 1")
    await pool.close()


async def test_callers_that_wait_get_the_connections_of_others(postgres_url: str) -> None:
    """Connections stay for the next call only while none waits, return to the driver after a
    moment, and are closed with the pool.
    """
    pool = Pool(postgres_url, PoolSettings(size=2))
    await pool.open()
    await asyncio.gather(
        *(pool.fetch(SLOW, 0.05) for _ in range(2))
    )  # a connection that is being made has a caller that waits
    found = await asyncio.gather(
        *(pool.fetch("SELECT pg_backend_pid() AS pid, pg_sleep(0.01)") for _ in range(20))
    )
    assert len({row["pid"] for (row,) in found}) == 2
    assert len(pool._free) == 2
    assert pool._pool is not None
    while pool._free:  # noqa: ASYNC110 - of a timer
        await asyncio.sleep(0.05)
    assert pool._pool.get_idle_size() == 2
    canceled = asyncio.create_task(pool.fetch(SLOW, 30.0))
    await asyncio.sleep(0.1)
    canceled.cancel()  # its connection is busy until the server has given up the statement
    await asyncio.gather(*(pool.fetch("SELECT 1") for _ in range(4)))
    await pool.close()
    with pytest.raises(StoreUnavailableError, match=r"call open\(\)"):
        await pool.fetch("SELECT 1")
    await pool.open()
    (row,) = await pool.fetch(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
        "pg_backend_pid()"
    )
    assert row["count"] == 0
    while pool._free:  # noqa: ASYNC110 - of a timer, also of a pool that was opened again
        await asyncio.sleep(0.05)
    await pool.close()


async def test_a_slow_statement_times_out(postgres_url: str) -> None:
    """The caller gets an error, and the pool works afterwards."""
    pool = Pool(postgres_url, PoolSettings(size=1, statement_seconds=0.2))
    await pool.open()
    with pytest.raises(StoreUnavailableError):
        await pool.fetch(SLOW, 30.0)
    assert await pool.fetch("SELECT 1")
    await pool.close()


async def test_killed_connections_are_replaced(store: PostgresStore, pool: Pool) -> None:
    """If the server ends all sessions, no acknowledged change is lost and the store goes on."""
    task = await create_task(store)
    made = 0
    for n in range(60):
        try:
            await store.update_task(
                SCOPE, task.key, TaskChange(chunks=[append_artifact("a", str(n))])
            )
            made += 1
        except StoreUnavailableError:
            continue
        if n % 20 == 10:
            await pool.fetch(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                "pg_backend_pid() AND datname = current_database()"
            )
    now = await load_task(store, task)
    assert made > 50
    assert now.version >= made + 1
    assert [event.seq for event in await store.read_events(task.key, 0)] == list(
        range(1, now.last_seq + 1)
    )


async def test_a_store_works_without_prepared_statements(postgres_url: str) -> None:
    """Behind a pooler in transaction mode, no statement stays prepared."""
    store = PostgresStore(postgres_url, pool=PoolSettings(size=4, statement_cache_size=0))
    await store.open()
    task = await create_task(store)
    await asyncio.gather(
        *(
            store.update_task(SCOPE, task.key, TaskChange(chunks=[append_artifact("a", str(n))]))
            for n in range(50)
        )
    )
    async with store._pool.connection() as connection:
        assert (
            await connection.fetchval(
                "SELECT count(*) FROM pg_prepared_statements WHERE name <> ''"
            )
            == 0
        )
    assert (await load_task(store, task)).version == 51
    await store.close()


# --- several processes ----------------------------------------------------------------------------


async def test_a_clock_that_is_behind_writes_no_older_status(postgres_url: str) -> None:
    """Its status gets the time of the previous one."""
    ahead, behind = (
        PostgresStore(postgres_url, StoreOptions(clock=FakeClock(1_800_000_000_000 + offset)))
        for offset in (5_000, 0)
    )
    await ahead.open()
    await behind.open()
    task = await create_task(ahead)
    await behind.update_task(SCOPE, task.key, TaskChange(state=State.WORKING))
    assert (await load_task(behind, task)).updated_at == task.updated_at
    await ahead.close()
    await behind.close()


async def test_no_event_after_a_push_configuration_is_missing(store: PostgresStore) -> None:
    """From the moment a configuration is acknowledged, every event is delivered to it, even under
    load.
    """
    task = await create_task(store)
    calls = [
        asyncio.create_task(
            store.update_task(SCOPE, task.key, TaskChange(chunks=[append_artifact("a", str(n))]))
        )
        for n in range(200)
    ]
    await asyncio.sleep(0.01)
    config = await store.put_push_config(
        SCOPE, task.wire_id, TaskPushNotificationConfig(url="http://127.0.0.1/")
    )
    late = asyncio.create_task(
        store.update_task(SCOPE, task.key, TaskChange(state=State.COMPLETED))
    )
    await asyncio.gather(*calls, late)
    due = [
        row["seq"]
        for row in await store._pool.fetch(
            "SELECT seq FROM a2a_outbox WHERE config_id = $1 ORDER BY seq", config.id
        )
    ]
    last_seq = (await load_task(store, task)).last_seq
    assert due == list(range(due[0], last_seq + 1))


async def test_wrong_clocks_end_no_lease(postgres_url: str) -> None:
    """A lease is valid on machines whose clocks differ by hours."""
    fast, slow = (
        PostgresStore(postgres_url, StoreOptions(clock=FakeClock(1_800_000_000_000 + offset)))
        for offset in (7_200_000, 0)
    )
    for store in (fast, slow):
        await store.open()
    await slow.register("slow")
    task = await create_task(slow, build_new_task(process="slow"))
    assert await fast.find_orphans() == []
    assert await fast.claim(task.key, "fast") is None
    for store in (fast, slow):
        await store.close()


@pytest.mark.parametrize(
    "by_claim", [pytest.param(False, id="created"), pytest.param(True, id="claimed")]
)
async def test_an_unconfirmed_claim_is_found(postgres_url: str, *, by_claim: bool) -> None:
    """If the result of a creation or a claim is lost, the next lease renewal returns the task,
    which can be released.
    """
    lost = iter([StoreUnavailableError("the result is lost")])

    def lose_result(point: str) -> None:
        if point == "after commit" and armed and (error := next(lost, None)) is not None:
            raise error

    armed = False
    store = PostgresStore(postgres_url, StoreOptions(fail_point=lose_result))
    await store.open()
    await store.register("me")
    task = await create_task(store) if by_claim else None
    armed = True
    with pytest.raises(StoreUnavailableError):
        await (
            store.claim(task.key, "me")
            if task
            else store.create_task(SCOPE, build_new_task(process="me"))
        )
    assert await store.find_orphans() == []
    (key,) = (await store.renew_lease("me")).claimed
    await store.release_claims("me", [key])
    assert list(await store.find_orphans()) == [key]
    run = await store.claim(key, "me")
    assert run is not None
    assert run.attempt == 2
    await store.close()


async def test_racing_claims_have_one_winner(postgres_url: str) -> None:
    """One of many concurrent claims succeeds, each time the task is an orphan."""
    clock = FakeClock()
    stores = [
        PostgresStore(postgres_url, StoreOptions(clock=clock, lease_seconds=10.0)) for _ in range(3)
    ]
    for store in stores:
        await store.open()
    task = await create_task(stores[0])
    for epoch in range(1, 6):
        names = [f"process-{epoch}-{n}" for n in range(12)]

        async def contend(n: int, name: str) -> bool:
            await stores[n % 3].register(name)
            return await stores[n % 3].claim(task.key, name) is not None

        won = await asyncio.gather(*(contend(n, name) for n, name in enumerate(names)))
        assert sum(won) == 1
        assert (await load_task(stores[0], task)).epoch == epoch
        clock.advance(11.0)
    for store in stores:
        await store.close()


async def test_the_result_of_a_first_change_needs_no_read(
    store: PostgresStore, postgres_url: str
) -> None:
    """The event contains the task, unless another process has changed it in between."""
    other = PostgresStore(postgres_url)
    await other.open()
    alone, shared = [await create_task(store) for _ in range(2)]
    await other.update_task(SCOPE, shared.key, TaskChange(metadata={"k": 1}))
    attached = [
        (await store.update_task(SCOPE, task.key, TaskChange(state=State.COMPLETED))).stored
        for task in (alone, shared)
    ]
    assert [each and to_comparable(each) for each in attached] == [
        to_comparable(await load_task(store, alone)),
        None,
    ]
    await other.close()


@pytest.mark.parametrize("size", [0, 40, 400], ids="of-{}-tasks".format)
async def test_a_task_is_found_by_its_own_index(pool: Pool, size: int) -> None:
    """The planner takes the index of the key or the wire id even while the table is new; those on
    the scope would become slow.
    """
    async with pool.transaction() as connection:
        await connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        await connection.execute(FILL, size)
        for name, index in INDEX_OF.items():
            arguments = ", ".join(
                ["NULL"] * max(int(number) for number in re.findall(r"\$(\d+)", SQL[name]))
            )
            await connection.execute(f"PREPARE {name} AS {SQL[name]}")
            plan = "\n".join(
                row[0] for row in await connection.fetch(f"EXPLAIN EXECUTE {name} ({arguments})")
            )
            await connection.execute(f"DEALLOCATE {name}")
            assert re.findall(r"Scan using (a2a_tasks_\w+)", plan) == [index], name


@pytest.mark.parametrize(
    ("name", "index"),
    [("list_states", "a2a_tasks_state_page"), ("list_context", "a2a_tasks_context_page")],
)
async def test_a_page_reads_its_index_in_order(pool: Pool, name: str, index: str) -> None:
    """Of thousands of tasks of a caller, a cached plan reads as many as the page has, and sorts no
    others.
    """
    async with pool.transaction() as connection:
        await connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        await connection.execute(FILL, 5_000)
        await connection.execute("ANALYZE a2a_tasks")
        arguments = ", ".join(
            ["NULL"] * max(int(number) for number in re.findall(r"\$(\d+)", SQL[name]))
        )
        await connection.execute(f"PREPARE page AS {SQL[name]}")
        plan = "\n".join(
            row[0] for row in await connection.fetch(f"EXPLAIN EXECUTE page ({arguments})")
        )
        page = plan[plan.index("CTE page") :]
        assert re.search(rf"Limit .*\n *->  Index (Only )?Scan using {index} ", page), plan


async def test_totals_are_right_after_concurrent_changes(postgres_url: str) -> None:
    """Processes create, change and delete tasks of one caller while others fold and correct the
    totals.
    """
    stores = [PostgresStore(postgres_url, StoreOptions(retention_seconds=0)) for _ in range(3)]
    for store in stores:
        await store.open()

    async def live(n: int) -> None:
        store = stores[n % 3]
        for _ in range(8):
            task = await create_task(store)
            for state in LIVES[n % 4]:
                await store.update_task(SCOPE, task.key, TaskChange(state=state))
            if n % 3 == 0:
                await store.delete_task(SCOPE, task.wire_id)

    async def maintain(store: PostgresStore) -> int:
        for _ in range(10):
            await store.delete_expired(2)
            assert await store.correct_totals() == 0
        return 10

    await asyncio.gather(*map(live, range(24)), *map(maintain, stores))
    while await stores[0].delete_expired():
        pass
    assert [(await store.list_tasks(SCOPE, TaskQuery())).total_size for store in stores] == [
        0,
        0,
        0,
    ]
    for store in stores:
        await store.close()

"""Checks of the store: it opens, its schema fits, its disk and files are in order, its clock is
ours, notifications arrive.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

from a2a_runtime.base.importing import MissingLibraryError
from a2a_runtime.cli.diagnosis.findings import (
    Diagnosis,
    report_error,
    report_fine,
    report_outage,
    warn,
)
from a2a_runtime.errors import StoreUnavailableError, UnsupportedStoreError
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.factory import create_store, is_object_name, is_shared, try_store
from a2a_runtime.stores.optional import FileStore, TimedStore

MAX_CLOCK_SECONDS = 2.0
_MIN_FREE_BYTES = 1_000_000_000
_OTHERS_CAN_READ = 0o077
_WAIT_SECONDS = 5.0
_PROBE = "a2a-gen-doctor"
"""Key of no task: processes that get it find nothing."""


async def check_store(url: str) -> AsyncIterator[Diagnosis]:
    """Check the store at a URL, beside the processes that run on it."""
    try:
        await try_store(url)
        if is_object_name(url):
            yield report_fine(
                "store",
                f"{url}: is a store; it is opened at the start only, since one process uses it",
            )
            return
        store = create_store(url, attach=True)
    except (MissingLibraryError, UnsupportedStoreError) as error:
        yield report_error("store", str(error).removeprefix("store: "))
        return
    except StoreUnavailableError as error:
        yield report_outage("store", str(error))
        return
    if not store.is_durable:
        yield warn(
            "store",
            f"{url}: tasks end with the process",
            "set A2A_STORE to sqlite:///FILE or postgresql://…",
        )
        return
    await store.open()
    try:
        yield report_fine(
            "store", f"{type(store).__name__}: opens, and its schema is that of this release"
        )
        if isinstance(store, FileStore):
            for finding in _check_file(store.path):
                yield finding
        if isinstance(store, TimedStore):
            yield await _check_clock(store)
        if is_shared(url):
            yield await _check_notifier(store, url)
    finally:
        await store.close()


def _check_file(path: Path) -> Iterator[Diagnosis]:
    """Look at the file of a store and its disk."""
    if path.stat().st_mode & _OTHERS_CAN_READ:
        yield warn("store", f"{path}: other users can read it", f"run chmod 600 {path}*")
    free = shutil.disk_usage(path.parent).free
    if free < _MIN_FREE_BYTES:
        yield warn(
            "disk",
            f"{path.parent}: {free / 1e6:.0f} MB free",
            "free space: a full disk refuses every task",
        )
    else:
        yield report_fine("disk", f"{path.parent}: {free / 1e9:.0f} GB free")


async def _check_clock(store: TimedStore) -> Diagnosis:
    """Compare the clock of a database with the one of this machine."""
    before = time.time()
    theirs = await store.read_clock()
    after = time.time()
    difference = max(before - theirs, theirs - after, 0.0)
    if difference > MAX_CLOCK_SECONDS:
        return warn(
            "clock",
            f"{difference:.1f} s from that of the database",
            "run a time service (chrony, systemd-timesyncd) on both machines",
        )
    return report_fine("clock", "that of the database")


async def _check_notifier(store: Store, url: str) -> Diagnosis:
    """Check that a notification of one process reaches another."""
    if await _is_notified(store, url):
        return report_fine("notifier", "a notification of one connection reaches another")
    fix = (
        "check that the address is that of the server, not of a pooler in transaction mode; "
        "A2A_STORE_DIRECT names it"
    )
    return report_outage(
        "notifier",
        f"no notification within {_WAIT_SECONDS:g} s; streams poll the store instead",
        fix,
    )


class _ProbeListener:
    """A listener that waits for the probe."""

    def __init__(self) -> None:
        self.is_connected = asyncio.Event()
        self.is_notified = asyncio.Event()

    def on_notification(self, keys: Iterable[str]) -> None:
        """Look for the probe."""
        if _PROBE in keys:
            self.is_notified.set()

    def on_reconnect(self) -> None:
        """Note that the connection listens."""
        self.is_connected.set()


async def _is_notified(store: Store, url: str) -> bool:
    """Send a notification from one connection to another."""
    sender = store.notifier()
    receiver = create_store(url, attach=True).notifier()
    if sender is None or receiver is None:
        return False
    ends = (_ProbeListener(), _ProbeListener())
    listening = [
        asyncio.create_task(notifier.listen(end))
        for notifier, end in zip((sender, receiver), ends, strict=True)
    ]
    try:
        async with asyncio.timeout(_WAIT_SECONDS):
            for end in ends:
                await end.is_connected.wait()
            sender.notify([_PROBE])
            await ends[1].is_notified.wait()
    except TimeoutError:
        return False
    finally:
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
    return True

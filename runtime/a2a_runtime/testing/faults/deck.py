"""The deck: processes of an agent under load, faults, and the check of every promise.

callers ──► proxy ──► process 1, process 2 … (a2a-gen serve) ──► proxy ──► Postgres
                                              workers (a2a-gen worker) ──► proxy
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar, Unpack
from urllib.parse import urlsplit, urlunsplit

from a2a_runtime.client.client import Content
from a2a_runtime.settings import PREFIX
from a2a_runtime.testing.faults.load import CheckTask, Load, LoadPlan, LoadReport
from a2a_runtime.testing.faults.processes import AgentProcess
from a2a_runtime.testing.faults.proxy import CuttableProxy
from a2a_runtime.testing.ports import find_free_port

T = TypeVar("T")

_LEASE_SECONDS = 2.0
_FROZEN_LEASES = 1.5
"""Leases for which a process is frozen."""
_TASKS_BETWEEN_FAULTS = 8
_POSTGRES_PORT = 5432


class DeckOptions(TypedDict, total=False):
    """Options of a deck."""

    processes: int
    """Processes that serve, 1 unless the store is Postgres."""
    workers: int
    """Processes that run skills placed on workers."""
    message: Content | Callable[[int], Content]
    """Content of every message, or a function that builds the n-th."""
    skill: str
    auth: str
    """Bearer token of the callers."""
    callers: int
    environment: Mapping[str, str]
    """Further environment of the processes."""
    check: CheckTask
    """Raises ``AssertionError`` for a completed task that is not as it should be."""
    end_seconds: float
    """Time in which every task has to end after the last fault."""


class FaultDeck:
    """An agent in processes of its own, with callers, and faults that happen to it.

    ``app`` is what ``a2a-gen serve`` takes, ``store`` the URL of a store that outlives its
    processes.
    """

    def __init__(self, app: str, store: str, log: Path, **options: Unpack[DeckOptions]) -> None:
        if store.startswith("memory"):
            raise ValueError(
                "fault deck: store: a memory store does not outlive its process; use "
                "sqlite:///file or postgresql://…"
            )
        message = options.get("message", "hello")
        build: Callable[[int], Content] = message if callable(message) else lambda _: message
        self._app = app
        self._store = store
        self._log = log
        self._options = options
        self._plan = LoadPlan(
            build,
            options.get("skill"),
            options.get("auth"),
            options.get("callers", 4),
            options.get("end_seconds", 60.0),
            options.get("check"),
        )
        self._stack = ExitStack()
        self._loop = asyncio.new_event_loop()
        self._proxy = CuttableProxy([])
        self._store_proxy: CuttableProxy | None = None
        self._is_first = 0
        self.processes: list[AgentProcess] = []
        self.workers: list[AgentProcess] = []

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            thread = Thread(target=self._loop.run_forever, name="fault-deck", daemon=True)
            thread.start()
            stack.callback(self._stop_loop, thread)
            environment = self._build_environment(stack)
            self._environment = environment
            for _ in range(self._options.get("processes", 1)):
                self.processes.append(self._start("serve", stack))
            for _ in range(self._options.get("workers", 0)):
                self.workers.append(self._start("worker", stack))
            self._proxy.targets = [("127.0.0.1", process.port) for process in self.processes]
            self._run(self._proxy.open())
            stack.callback(lambda: self._run(self._proxy.close()))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        """URL of the agent, whose connections can be cut."""
        return f"http://127.0.0.1:{self._proxy.port}"

    # Faults

    def kill(self) -> None:
        """Kill a process that serves, as a power failure would, and start it again."""
        process = self._next()
        process.kill()
        self._restart(process, "serve", self.processes)

    def kill_worker(self) -> None:
        """Kill a worker, and start another one."""
        worker = self.workers[0]
        worker.kill()
        self._restart(worker, "worker", self.workers)

    def freeze(self) -> None:
        """Freeze a process that serves for longer than its lease."""
        self._freeze(self._next())

    def freeze_worker(self) -> None:
        """Freeze a worker for longer than its lease."""
        self._freeze(self.workers[-1])

    def stop(self) -> None:
        """Stop a process that serves as a deployment does, and start it again."""
        process = self._next()
        process.stop()
        self._restart(process, "serve", self.processes)

    def stop_worker(self) -> None:
        """Stop a worker as a deployment does, and start another one."""
        worker = self.workers[0]
        worker.stop()
        self._restart(worker, "worker", self.workers)

    def cut(self) -> None:
        """Cut all connections of the callers."""
        self._run(self._proxy.cut())

    def cut_store(self) -> None:
        """Cut all connections to Postgres."""
        if self._store_proxy is None:
            raise ValueError(
                "fault deck: cut_store: a file has no connections; use a Postgres store, or "
                "leave this fault out"
            )
        self._run(self._store_proxy.cut())

    def fill_disk(self) -> None:
        """Let no process that serves write a byte to any file for a lease, as on a full disk."""
        for process in self.processes:
            process.limit_files(0)
        try:
            self.pause_leases(1)
        finally:
            for process in self.processes:
                process.limit_files(None)

    def pause_leases(self, number: float) -> None:
        """Wait for a number of leases, within a fault of your own."""
        time.sleep(number * _LEASE_SECONDS)

    def run(self, *faults: Callable[[], object]) -> LoadReport:
        """Apply faults one after the other under load, then check every promise; raise
        ``AssertionError`` with those that are broken.
        """
        load = Load(self.url, self._plan)
        self._run(load.start())
        try:
            for fault in faults:
                self._wait_for_more(load)
                fault()
            self._wait_for_more(load)
        finally:
            self._run(load.stop())
        report = self._run(load.check())
        if report.violations:
            listed = "\n".join(
                (f"fault deck: {len(report.violations)} broken promises:", *report.violations[:20])
            )
            raise AssertionError(f"{listed}\nThe log ends with:\n{self.processes[0].read_log()}")
        return report

    def _wait_for_more(self, load: Load) -> None:
        try:
            self._run(load.wait_for_more(_TASKS_BETWEEN_FAULTS))
        except TimeoutError as error:
            text = (
                f"fault deck: the agent accepted no more tasks in {self._plan.end_seconds:g} s; "
                "its log ends with:"
            )
            raise AssertionError(f"{text}\n{self.processes[0].read_log()}") from error

    # Processes

    def _next(self) -> AgentProcess:
        """Return the process that served longest without a fault."""
        self._is_first += 1
        return self.processes[(self._is_first - 1) % len(self.processes)]

    def _freeze(self, process: AgentProcess) -> None:
        process.freeze()
        try:
            self.pause_leases(_FROZEN_LEASES)
        finally:
            process.thaw()

    def _start(self, command: str, stack: ExitStack, port: int | None = None) -> AgentProcess:
        process = AgentProcess(
            (command, self._app), port or find_free_port(), self._log, self._environment
        )
        stack.callback(process.kill)
        process.wait_until_ready()
        return process

    def _restart(self, process: AgentProcess, command: str, among: list[AgentProcess]) -> None:
        among[among.index(process)] = self._start(command, self._stack, process.port)

    def _build_environment(self, stack: ExitStack) -> Mapping[str, str]:
        store = self._store
        address = urlsplit(store)
        if address.scheme.startswith("postgres"):
            self._store_proxy = proxy = CuttableProxy(
                [(address.hostname or "127.0.0.1", address.port or _POSTGRES_PORT)]
            )
            self._run(proxy.open())
            stack.callback(lambda: self._run(proxy.close()))
            user, at, _ = address.netloc.rpartition("@")
            store = urlunsplit(address._replace(netloc=f"{user}{at}127.0.0.1:{proxy.port}"))
        own = {
            "STORE": store,
            "LEASE_DURATION": str(_LEASE_SECONDS),
            "LEASE_RENEW_INTERVAL": "0.25",
            "ORPHAN_SCAN_INTERVAL": "0.25",
            "SHUTDOWN_GRACE": "1",
        }
        return {
            **{PREFIX + name: value for name, value in own.items()},
            **self._options.get("environment", {}),
        }

    def _run(self, steps: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop of the deck, and wait for it."""
        return asyncio.run_coroutine_threadsafe(steps, self._loop).result()

    def _stop_loop(self, thread: Thread) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        thread.join()
        self._loop.close()

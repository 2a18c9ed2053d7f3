"""Jobs: our own, and handles of other systems."""

from __future__ import annotations

import asyncio
import threading

import pytest

from a2a_runtime.engine.handlers.jobs import (
    BackgroundJob,
    JobCanceledError,
    JobProgress,
    await_job,
    is_job,
    poll_job,
)

pytestmark = pytest.mark.anyio


class ForeignJob:
    """Handle of another system, with async and plain methods and its own spelling of canceled."""

    def __init__(
        self, *results: object, result: object = "done", error: Exception | None = None
    ) -> None:
        self.results = list(results)
        self.result = result
        self.error = error
        self.over = asyncio.Event()
        self.canceled = False

    async def status(self) -> object:
        """Tell how it stands, as long as there is something to tell."""
        if not self.results:
            self.over.set()
            return "working"
        seen = self.results.pop(0)
        if isinstance(seen, Exception):
            raise seen
        return seen

    def progress(self) -> float:
        """Tell how much is done."""
        return 0.5

    async def wait(self) -> object:
        """Wait."""
        await self.over.wait()
        if self.error:
            raise self.error
        return self.result

    async def cancel(self) -> None:
        """Stop, and complain about it."""
        self.canceled = True
        raise RuntimeError("already over")


async def follow_job(job: object) -> tuple[object, list[JobProgress]]:
    """Await a job and collect its progress."""
    news: list[JobProgress] = []

    async def collect(progress: JobProgress) -> None:
        news.append(progress)

    async with asyncio.timeout(30):
        return await await_job(job, pause=lambda: asyncio.sleep(0), on_progress=collect), news


async def test_a_background_job_reports_progress_and_ends() -> None:
    """A background job reports its progress and returns its result."""

    async def work(job: BackgroundJob) -> str:
        job.report(0.25, "a quarter")
        job.report(0.5, "half")
        await reported.wait()
        return "built"

    reported = asyncio.Event()
    news = list[JobProgress]()

    async def collect(progress: JobProgress) -> None:
        news.append(progress)
        reported.set()

    job = BackgroundJob(work)
    assert is_job(job)
    async with asyncio.timeout(60):
        assert await await_job(job, pause=asyncio.Event().wait, on_progress=collect) == "built"
    assert news == [JobProgress(0.5, "half")]


async def test_a_background_job_may_be_a_plain_function() -> None:
    """It runs in a thread of its own, reports from there, and can be created in a thread."""
    threads: list[int] = []

    def work(job: BackgroundJob) -> str:
        threads.append(threading.get_ident())
        job.report(0.5, "half")
        assert reported.wait(30)
        return "built"

    reported = threading.Event()
    job = await asyncio.to_thread(BackgroundJob, work)
    news: list[JobProgress] = []

    async def collect(progress: JobProgress) -> None:
        news.append(progress)
        reported.set()

    async with asyncio.timeout(60):
        assert await await_job(job, pause=asyncio.Event().wait, on_progress=collect) == "built"
    assert news == [JobProgress(0.5, "half")]
    assert threads != [threading.get_ident()]


async def test_a_report_is_written_before_the_end() -> None:
    """A job that ends while its report is being written ends after it."""
    events: list[str] = []

    async def work(job: BackgroundJob) -> str:
        job.report(1)
        await writing.wait()
        return "built"

    async def write_slowly(_progress: JobProgress) -> None:
        writing.set()
        await asyncio.sleep(0.05)
        events.append("written")

    writing = asyncio.Event()
    events.append(
        str(
            await await_job(
                BackgroundJob(work), pause=asyncio.Event().wait, on_progress=write_slowly
            )
        )
    )
    assert events == ["written", "built"]


async def test_a_job_that_is_canceled_early_never_begins() -> None:
    """A job begins when it is awaited, which is after its handler has returned."""
    begun: list[BackgroundJob] = []
    job = BackgroundJob(begun.append)
    job.cancel()
    with pytest.raises(JobCanceledError):
        await job.wait()
    assert begun == []


async def test_any_object_with_the_methods_is_a_job() -> None:
    """Repeated progress is skipped; a poll that fails is reported, and so is the next one that does
    not.
    """
    job = ForeignJob(
        {"status": "working", "progress": 0.1, "message": "a"},
        OSError("away"),
        {"progress": 0.1, "message": "a"},
        {"progress": 1, "message": ""},
    )
    assert is_job(job)
    unavailable = JobProgress(0.1, error="away")
    assert await follow_job(job) == (
        "done",
        [
            JobProgress(0.1, "a"),
            unavailable,
            JobProgress(0.1, "a"),
            JobProgress(1.0),
            JobProgress(0.5),
        ],
    )


@pytest.mark.parametrize("word", ["canceled", "cancelled", "CANCELLED"])
async def test_a_job_canceled_elsewhere_raises(word: str) -> None:
    """A canceled status ends the wait, in either spelling."""
    with pytest.raises(JobCanceledError):
        await follow_job(ForeignJob({"status": word}, *["working"] * 1000))


async def test_exceptions_of_a_job_are_raised() -> None:
    """The caller of ``await_job`` gets the exception of the work."""
    with pytest.raises(ValueError, match="broken"):
        await follow_job(ForeignJob(error=ValueError("broken")))


async def test_canceling_the_waiter_cancels_the_job() -> None:
    """The job is canceled, even if its handle raises."""
    job = ForeignJob(*["working"] * 100_000)
    waiter = asyncio.create_task(follow_job(job))
    await asyncio.sleep(0.01)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert job.canceled


async def test_a_background_job_can_be_canceled() -> None:
    """A canceled background job stops and has no result."""
    job = BackgroundJob(lambda _: asyncio.sleep(100))
    waiting = asyncio.ensure_future(job.wait())
    await asyncio.sleep(0)
    job.cancel()
    with pytest.raises(JobCanceledError):
        await waiting
    assert (job.progress(), job.is_cancelled) == (None, True)


@pytest.mark.parametrize("value", [None, "x", {"status": 1}, 5, [], asyncio.Event], ids=repr)
def test_other_results_are_no_jobs(value: object) -> None:
    """A value without all of the methods is an ordinary result."""
    assert not is_job(value)


async def test_a_status_may_be_a_word() -> None:
    """The progress may come from a method of its own."""
    assert await poll_job(ForeignJob("working")) == JobProgress(0.5)


class MeshJob:
    """Handle of the mcp-mesh libraries: without a progress method, and raising when its job was
    canceled.
    """

    def __init__(self, status: str = "cancelled") -> None:
        self._status = status

    async def status(self) -> object:
        """Tell how it stands."""
        return {"status": self._status, "progress": 0.25, "progress_message": "drafting"}

    async def wait(self) -> object:
        """Raise."""
        raise RuntimeError("the job did not succeed")

    async def cancel(self) -> None:
        """Stop."""


async def test_a_handle_of_mcp_mesh_is_a_job() -> None:
    """Progress and text are read, and its exception for a cancellation is a cancellation."""
    assert is_job(MeshJob())
    assert await poll_job(MeshJob("working")) == JobProgress(0.25, "drafting")
    with pytest.raises(JobCanceledError):
        await follow_job(MeshJob())
    with pytest.raises(RuntimeError, match="did not succeed"):
        await follow_job(MeshJob("failed"))

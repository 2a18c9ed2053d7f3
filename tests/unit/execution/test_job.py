"""Jobs: our own, and handles of other systems."""

from __future__ import annotations

import asyncio

import pytest

from a2a_runtime.execution.jobs import BackgroundJob, JobCanceledError, JobProgress, await_job, is_job, poll_job

pytestmark = pytest.mark.anyio


class ForeignJob:
    """Handle of another system, with async and plain methods and its own spelling of canceled."""

    def __init__(self, *results: object, result: object = "done", error: Exception | None = None) -> None:
        self.results, self.result, self.error = list(results), result, error
        self.over, self.canceled = asyncio.Event(), False

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


async def followed(job: object) -> tuple[object, list[JobProgress]]:
    """Await a job and collect its progress."""
    news: list[JobProgress] = []

    async def collect(progress: JobProgress) -> None:
        news.append(progress)

    async with asyncio.timeout(30):
        return await await_job(job, pause=lambda: asyncio.sleep(0), on_progress=collect), news


async def test_a_background_job_reports_progress_and_ends() -> None:
    """A background job reports its progress and returns its result."""

    async def work(job: BackgroundJob) -> str:
        job.report(0.5, "half")
        await asyncio.sleep(0.01)
        return "built"

    job = BackgroundJob(work)
    assert is_job(job)
    assert await followed(job) == ("built", [JobProgress(0.5, "half")])


async def test_any_object_with_the_methods_is_a_job() -> None:
    """Repeated progress and failed polls are skipped."""
    job = ForeignJob(
        {"status": "working", "progress": 0.1, "message": "a"}, OSError("away"), {"progress": 0.1, "message": "a"}, {"progress": 1, "message": ""}
    )
    assert is_job(job)
    assert await followed(job) == ("done", [JobProgress(0.1, "a"), JobProgress(1.0), JobProgress(0.5)])


@pytest.mark.parametrize("word", ["canceled", "cancelled", "CANCELLED"])
async def test_a_job_canceled_elsewhere_raises(word: str) -> None:
    """A canceled status ends the wait, in either spelling."""
    with pytest.raises(JobCanceledError):
        await followed(ForeignJob({"status": word}, *["working"] * 1000))


async def test_exceptions_of_a_job_are_raised() -> None:
    """The caller of ``await_job`` gets the exception of the work."""
    with pytest.raises(ValueError, match="broken"):
        await followed(ForeignJob(error=ValueError("broken")))


async def test_canceling_the_waiter_cancels_the_job() -> None:
    """The job is canceled, even if its handle raises."""
    job = ForeignJob(*["working"] * 100_000)
    waiter = asyncio.create_task(followed(job))
    await asyncio.sleep(0.01)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert job.canceled


async def test_a_background_job_can_be_canceled() -> None:
    """A canceled background job stops and has no result."""
    job = BackgroundJob(lambda _: asyncio.sleep(100))
    await asyncio.sleep(0)
    job.cancel()
    with pytest.raises(JobCanceledError):
        await job.wait()
    assert job.progress() is None


@pytest.mark.parametrize("value", [None, "x", {"status": 1}, 5, [], asyncio.Event], ids=repr)
def test_other_results_are_no_jobs(value: object) -> None:
    """A value without all of the methods is an ordinary result."""
    assert not is_job(value)


async def test_a_status_may_be_a_word() -> None:
    """The progress may come from a method of its own."""
    assert await poll_job(ForeignJob("working")) == JobProgress(0.5)


class MeshJob:
    """Handle of the mcp-mesh libraries: without a progress method, and raising when its job was canceled."""

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
        await followed(MeshJob())
    with pytest.raises(RuntimeError, match="did not succeed"):
        await followed(MeshJob("failed"))

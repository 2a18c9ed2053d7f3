"""Handles to work that goes on: ours, and those of others."""

from __future__ import annotations

import asyncio

import pytest

from a2a_runtime.execution.jobs import BackgroundJob, JobCanceledError, JobProgress, await_job, is_job, poll_job

pytestmark = pytest.mark.anyio


class ForeignJob:
    """What another system hands out; some of it is async, some is not, and its word for a cancellation is spelled its own way."""

    def __init__(self, *told: object, result: object = "done", error: Exception | None = None) -> None:
        self.told, self.result, self.error = list(told), result, error
        self.over, self.canceled = asyncio.Event(), False

    async def status(self) -> object:
        """Tell how it stands, as long as there is something to tell."""
        if not self.told:
            self.over.set()
            return "working"
        seen = self.told.pop(0)
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
    """Wait for a job, and collect what it says."""
    news: list[JobProgress] = []

    async def collect(progress: JobProgress) -> None:
        news.append(progress)

    async with asyncio.timeout(5):
        return await await_job(job, pause=lambda: asyncio.sleep(0), on_progress=collect), news


async def test_our_own_job_tells_and_ends() -> None:
    """A background job reports its progress and gives back its result."""

    async def work(job: BackgroundJob) -> str:
        job.report(0.5, "half")
        await asyncio.sleep(0.01)
        return "built"

    job = BackgroundJob(work)
    assert is_job(job)
    assert await followed(job) == ("built", [JobProgress(0.5, "half")])


async def test_a_foreign_job_is_understood() -> None:
    """Whatever has the four methods is a job; news that repeat themselves and looks that fail are passed over."""
    job = ForeignJob(
        {"status": "working", "progress": 0.1, "message": "a"}, OSError("away"), {"progress": 0.1, "message": "a"}, {"progress": 1, "message": ""}
    )
    assert is_job(job)
    assert await followed(job) == ("done", [JobProgress(0.1, "a"), JobProgress(1.0), JobProgress(0.5)])


@pytest.mark.parametrize("word", ["canceled", "cancelled", "CANCELLED"])
async def test_a_job_that_was_canceled_elsewhere_ends(word: str) -> None:
    """A job that says it was canceled is not waited for, in either spelling."""
    with pytest.raises(JobCanceledError):
        await followed(ForeignJob({"status": word}, *["working"] * 1000))


async def test_what_a_job_raises_is_what_comes_of_it() -> None:
    """The error of the work is the error of whoever waits for it."""
    with pytest.raises(ValueError, match="broken"):
        await followed(ForeignJob(error=ValueError("broken")))


async def test_canceling_the_waiter_cancels_the_job() -> None:
    """The job is asked to stop, whatever it says to that."""
    job = ForeignJob(*["working"] * 100_000)
    waiter = asyncio.create_task(followed(job))
    await asyncio.sleep(0.01)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert job.canceled


async def test_our_own_job_can_be_canceled() -> None:
    """A background job that is canceled stops, and says that it has no result."""
    job = BackgroundJob(lambda _: asyncio.sleep(100))
    await asyncio.sleep(0)
    job.cancel()
    with pytest.raises(JobCanceledError):
        await job.wait()
    assert job.progress() is None


@pytest.mark.parametrize("value", [None, "x", {"status": 1}, 5, [], asyncio.Event], ids=repr)
def test_other_answers_are_no_jobs(value: object) -> None:
    """What has not all four methods is an answer like any other."""
    assert not is_job(value)


async def test_a_word_is_a_status_too() -> None:
    """A job may tell its status as a word, and its progress on its own."""
    assert await poll_job(ForeignJob("working")) == JobProgress(0.5)


class MeshJob:
    """The handle that the libraries of mcp-mesh hand out: it has no way to ask for the progress alone, and raises when its job was canceled."""

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


async def test_a_handle_of_mcp_mesh_is_one() -> None:
    """Its progress and its text are told, and an error that it raises for a cancellation is one."""
    assert is_job(MeshJob())
    assert await poll_job(MeshJob("working")) == JobProgress(0.25, "drafting")
    with pytest.raises(JobCanceledError):
        await followed(MeshJob())
    with pytest.raises(RuntimeError, match="did not succeed"):
        await followed(MeshJob("failed"))

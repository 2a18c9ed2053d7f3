"""Claims of a process, as the store has them, compared with the runs that are here.

the store has …                         here is …           then
a claim                                 its run             nothing is to be done
a claim                                 no run, twice       the claim is released:
                                                            the answer to it was lost
a claim                                 no run, a creation  nothing: the run may be about to begin
no claim, or fewer writes than the run  its run             the run is lost: the store fell back,
                                                            or another process has the task
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf

from a2a_runtime.base.clock import Clock
from a2a_runtime.errors import FencedError, LostWritesError
from a2a_runtime.stores.models import RunProgress


class ClaimLedger:
    """Notes of a process about its claims, between two renewals of its lease."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._claimed_since: dict[str, float] = {}
        """Tasks that were claimed and did not run here at the last renewal, with the time when that
        was noticed.
        """
        self._creations: dict[int, float] = {}
        """Creations under way, with their beginnings, oldest first."""
        self._last_creation = 0

    def begin_creation(self) -> int:
        """Note that a task is being created, and return a number for ``end_creation``."""
        self._last_creation += 1
        self._creations[self._last_creation] = self._clock.monotonic()
        return self._last_creation

    def end_creation(self, number: int) -> None:
        """Note that a creation is over, and its run here if there is one."""
        del self._creations[number]

    def find_doubtful(self, claimed: Collection[str], here: Collection[str]) -> Sequence[str]:
        """Return the claims without a run, now and at the last renewal, that no creation under way
        can have made.
        """
        now = self._clock.monotonic()
        before = self._claimed_since
        self._claimed_since = {key: before.get(key, now) for key in claimed if key not in here}
        oldest_creation = next(iter(self._creations.values()), inf)
        return [
            key
            for key, since in before.items()
            if key in self._claimed_since and since < oldest_creation
        ]


def find_lost(
    known: Mapping[str, RunProgress], claimed: Mapping[str, RunProgress]
) -> Iterator[tuple[str, RunProgress, FencedError]]:
    """Find the runs that the store does not have any more, or not all of their writes, with the
    reason.
    """
    for key, run in known.items():
        stored = claimed.get(key)
        if stored is None or stored.epoch != run.epoch:
            yield (
                key,
                run,
                FencedError(
                    f"Run {run.epoch} of the task does not belong to this process any more"
                ),
            )
        elif stored.writes < run.writes:
            yield key, run, LostWritesError(f"The store has {stored.writes} of {run.writes} writes")

"""Faults on purpose: a process that dies at a named point, as a power failure would have it.

A store calls ``options.fault`` with the name of each point that it passes; here are the functions that do something there. A process under test takes
its fault from the environment, so that nothing in it has to be changed for the test::

    A2A_FAULT="before commit:17" python agent.py        # dies when it commits for the seventeenth time

The points of a write in SQLite are ``begun``, ``call done``, ``before commit`` and ``after commit`` (before anybody is told).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

from a2a_runtime.stores.base import FailPoint, no_fault

FAULT_VARIABLE = "A2A_FAULT"


class KillProcess:
    """Kills the process when a point is passed for the n-th time: nothing is flushed, closed or said."""

    def __init__(self, point: str, times: int = 1) -> None:
        self._point = point
        self._remaining = times

    def __call__(self, point: str) -> None:
        """Pass a point."""
        if point == self._point:
            self._remaining -= 1
            if not self._remaining:
                os.kill(os.getpid(), signal.SIGKILL)


def fail_point_from_environment(environment: Mapping[str, str] = os.environ) -> FailPoint:
    """Make the fault that the environment asks for; none if it does not ask."""
    wish = environment.get(FAULT_VARIABLE, "")
    if not wish:
        return no_fault
    point, _, times = wish.partition(":")
    return KillProcess(point, int(times or 1))

"""Fail points that kill the process at a named point, as a power failure would.

A store calls ``options.fail_point`` with the name of each point that it passes. A process under
test takes its fail point from the environment, so its code needs no change for the test::

    A2A_FAULT="before commit:17" python agent.py        # dies at its seventeenth commit

The points of a write in SQLite are ``begun``, ``call done``, ``before commit`` and ``after commit``
(before any caller gets a result).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

from a2a_runtime.stores.base import FailPoint, no_fault

FAULT_VARIABLE = "A2A_FAULT"


class KillProcess:
    """Kills the process when a point is passed for the n-th time: nothing is flushed, closed or
    logged.
    """

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
    """Create the fail point that the environment names; without one, do nothing."""
    value = environment.get(FAULT_VARIABLE, "")
    if not value:
        return no_fault
    point, _, times = value.partition(":")
    return KillProcess(point, int(times or 1))

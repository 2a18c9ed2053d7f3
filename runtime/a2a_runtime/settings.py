"""What an operator may set, with the defaults; times are in seconds.

Every setting can be given in the environment, by its name in capitals after ``A2A_``: ``A2A_STORE=postgresql://…``, ``A2A_SHUTDOWN_GRACE=60``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import get_type_hints

PREFIX = "A2A_"


@dataclass(frozen=True, slots=True)
class Settings:
    """How the runtime behaves on this machine."""

    store: str = "memory"
    """``memory``, ``sqlite:///file`` or ``postgresql://…``"""
    shutdown_grace: float = 30.0
    """How long running tasks may go on after the process was told to stop."""
    stubborn_after: float = 5.0
    """How long a handler may go on after it was told to stop; then its task ends without it."""
    cancel_wait: float = 5.0
    """How long a cancel request waits for the handler to stop before it answers with the task as it is."""
    beat: float = 1.0
    """How often the process renews its lease and looks for requested cancellations."""
    sweep: float = 2.0
    """How often the process looks for tasks whose process is gone."""
    retention_sweep: float = 60.0
    """How often expired tasks are deleted."""
    tick: float = 0.25
    """How often time limits are looked at."""
    working_after: float = 0.02
    """How long a handler may run before the task is said to be working, if it has written nothing until then."""
    store_patience: float = 30.0
    """How long a write of a handler, and a reader, wait for a store that is away."""
    job_poll: float = 1.0
    """How often the progress of a background job is looked at."""
    stream_window: int = 512
    """How many of the newest events of a followed task are kept in memory."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Read the settings that the environment gives, and say which of them cannot be read."""
        hints, given, wrong = get_type_hints(cls), {}, []
        for setting in fields(cls):
            name = PREFIX + setting.name.upper()
            if name in environment:
                kind: Callable[[str], str | int | float] = hints[setting.name]
                try:
                    given[setting.name] = kind(environment[name])
                except ValueError:
                    wrong.append(f"{name}={environment[name]!r} is no {hints[setting.name].__name__}")
        if wrong:
            raise ValueError("; ".join(wrong))
        return cls(**given)  # type: ignore[arg-type]  # each value was made by its own field's type

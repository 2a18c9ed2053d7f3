"""Identifiers."""

from __future__ import annotations

import os
import subprocess
import sys
from uuid import RFC_4122, UUID

import pytest

from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.testing.clock import FakeClock


def test_ids_are_uuids_of_version_seven() -> None:
    """They begin with the time and have the usual form of UUIDs."""
    clock = FakeClock()
    text = IdGenerator(clock).new()
    uuid = UUID(text)
    assert (str(uuid), uuid.version, uuid.variant) == (text, 7, RFC_4122)
    assert uuid.int >> 80 == clock.millis()


def test_ids_grow_within_one_millisecond() -> None:
    """Also beyond what fits into a millisecond, each is greater than the one before."""
    ids = IdGenerator(FakeClock())
    generated = [ids.new() for _ in range(10_000)]
    assert generated == sorted(set(generated))


def test_ids_grow_when_the_clock_steps_back() -> None:
    """Ids still increase after the clock is set back."""
    clock = FakeClock()
    ids = IdGenerator(clock)
    before = ids.new()
    clock.set_back(3600)
    assert ids.new() > before
    clock.advance(7200)
    assert UUID(ids.new()).int >> 80 == clock.millis()


def test_ids_cannot_be_guessed_from_one_another() -> None:
    """Two generators produce different ids at the same moment."""
    clock = FakeClock()
    assert IdGenerator(clock).new() != IdGenerator(clock).new()


FORKING = """
import os, sys
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.testing.clock import FakeClock

ids = IdGenerator(FakeClock())
ids.new()
child = os.fork()
sys.stdout.write(f"{ids.new()}\\n")
sys.stdout.flush()
if child:
    sys.exit(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_has_other_ids() -> None:
    """It does not repeat the random part of its parent's ids, although that was read before the
    fork.
    """
    one, other = map(
        UUID,
        subprocess.run(
            [sys.executable, "-c", FORKING], capture_output=True, text=True, check=True, timeout=60
        ).stdout.split(),
    )
    assert one.int >> 64 == other.int >> 64
    assert one != other

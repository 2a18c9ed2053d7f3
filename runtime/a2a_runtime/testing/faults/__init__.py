"""Fault deck: kills, freezes and cuts under an agent of yours, and the promises that it keeps all
the same.

::

    pytest_plugins = ["a2a_runtime.testing.faults"]          # in conftest.py of the root

    def test_nothing_is_lost(fault_deck, tmp_path):
        with fault_deck("agent:app", store=f"sqlite:///{tmp_path}/tasks.db") as deck:
            report = deck.run(deck.kill, deck.freeze, deck.cut)
        assert report.completed

The agent runs as ``a2a-gen serve`` runs it, in processes of its own. Callers send messages, follow
streams and cancel tasks all the while. Then every acknowledged task has to be there, with one end,
events without a gap, and no other end than the cancellation that was confirmed.

    deck         the processes, the faults and the checks
    load         callers, and what they were told
    proxy        connections that can be cut
    processes    processes of an agent

Needs pytest, and the extras ``serve`` and ``client``; ``workers`` for workers.
"""

from pathlib import Path
from typing import Protocol, Unpack

import pytest

from a2a_runtime.testing.faults.deck import DeckOptions, FaultDeck
from a2a_runtime.testing.faults.load import LoadReport


class BuildDeck(Protocol):
    """The fixture ``fault_deck``."""

    def __call__(self, app: str, store: str, **options: Unpack[DeckOptions]) -> FaultDeck:
        """Build a deck for an app, as ``a2a-gen serve`` takes it, and the URL of its store."""
        ...


@pytest.fixture
def fault_deck(tmp_path: Path) -> BuildDeck:
    """Provide the function that builds a deck, with its log in the folder of the test."""

    def build(app: str, store: str, **options: Unpack[DeckOptions]) -> FaultDeck:
        return FaultDeck(app, store, tmp_path / "agent.log", **options)

    return build


__all__ = ["BuildDeck", "DeckOptions", "FaultDeck", "LoadReport", "fault_deck"]

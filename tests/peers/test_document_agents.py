"""Agents of documents that need LangGraph and DBOS: a graph that asks, and a workflow that survives
a kill.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from peers.environments import interpreter
from style.source_files import ROOT

pytestmark = [pytest.mark.peer, pytest.mark.soak(share="frameworks")]

SCRIPT = Path(__file__).with_name("document_agents.py")
TIMEOUT_SECONDS = 300


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start the script in the environment of the frameworks, with this checkout."""
    paths = [str(ROOT / each) for each in ("runtime", "generated")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [interpreter("document-agents"), SCRIPT, *words]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=sys.stderr, text=True
    )


def test_a_graph_asks_each_caller_by_itself(tmp_path: Path) -> None:
    """Two callers with one context id have two threads; the answer resumes the graph of its
    caller.
    """
    output, _ = start(tmp_path, "graph", str(ROOT / "docs" / "model-frameworks.md")).communicate(
        timeout=TIMEOUT_SECONDS
    )
    assert output.splitlines() == [
        f"INPUT_REQUIRED Do it? go {name} | COMPLETED Done: yes, {name}" for name in ("ada", "eve")
    ]


def test_a_workflow_goes_on_where_its_process_died(tmp_path: Path) -> None:
    """The step that has ended is not called again, and the task gets the result of the whole."""
    words = ("workflow", str(ROOT / "docs" / "durable-engines.md"), str(tmp_path / "tasks.db"))
    process = start(tmp_path, *words, "start")
    assert process.stdout is not None
    assert [process.stdout.readline().strip() for _ in range(2)] == ["step reserve", "step pay"]
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=TIMEOUT_SECONDS)
    output, _ = start(tmp_path, *words, "follow").communicate(timeout=TIMEOUT_SECONDS)
    assert output.splitlines() == ["step pay", "end Rome: reserved, paid"]

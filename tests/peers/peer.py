"""An official SDK in an environment of its own, asked over a pipe."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Self

from peers.environments import interpreter


class Refused(Exception):  # noqa: N818 - it is an answer, not an error of ours
    """The SDK does not take a document; says why."""


class Peer:
    """A running judge; a context manager."""

    def __init__(self, distribution: str) -> None:
        command = [str(interpreter(distribution)), "-I", str(Path(__file__).with_name("judge.py"))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def read(self, form: str, kind: str, document: object) -> object:
        """Give what the SDK writes after it has read a document, or raise ``Refused``."""
        pipe_in = self._process.stdin
        pipe_out = self._process.stdout
        if pipe_in is None or pipe_out is None:
            raise RuntimeError("the judge has no pipes")
        pipe_in.write(json.dumps({"form": form, "type": kind, "document": document}) + "\n")
        pipe_in.flush()
        reply = json.loads(pipe_out.readline())
        if "refused" in reply:
            raise Refused(reply["refused"])
        return reply["document"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=10)

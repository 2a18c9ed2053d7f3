"""Output of the commands: results on stdout, as text or as the JSON of the protocol; progress,
files and problems on stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from pydantic_core import to_json

from a2a_contract.base import JSON_NULL, WireModel
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import (
    Message,
    Part,
    SendMessageResponse,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from a2a_runtime.base.texts import join_texts
from a2a_runtime.cli.terminal.command import CallError
from a2a_runtime.cli.terminal.text import to_safe_json, to_safe_line, to_safe_text
from a2a_runtime.cli.usage_errors import CommandUsageError
from a2a_runtime.client import TaskEvent
from a2a_runtime.client.stream import TERMINAL_STATES
from a2a_runtime.client.typed.conversation import Progress
from a2a_runtime.client.typed.results import is_completed
from a2a_runtime.skills.schema import read_fields

_STATE_NAMES = {str(state): state.name.lower().replace("_", "-") for state in State}
_UNKNOWN_NAME = "file"


def print_json(document: WireModel) -> None:
    """Print an object of the protocol in one line."""
    click.echo(to_safe_json(document.to_json()))


def print_line(text: str) -> None:
    """Print something beside the result."""
    click.echo(text, err=True)


def show_progress(progress: Progress) -> None:
    """Print progress on a terminal; a script or pipe gets nothing."""
    if sys.stderr.isatty():
        percent = "" if progress.fraction is None else f"{progress.fraction:.0%} "
        print_line(f"... {percent}{to_safe_line(progress.text)}".rstrip())


def state_name(task: Task) -> str:
    """Return the state of a task as its word, e.g. ``input-required``."""
    return _STATE_NAMES.get(str(task.status.state), to_safe_line(str(task.status.state)))


def check_folder(output: Path | None) -> None:
    """Refuse a folder for files that cannot be used, before anything is sent."""
    if output is not None and not (output.is_dir() and os.access(output, os.W_OK)):
        raise CommandUsageError(f"--output: {output}: not a folder that can be written; create it")


def finish(last: Task | Message | None) -> None:
    """Raise ``CallError`` unless a call ended with a message or a completed task."""
    if last is None:
        raise CallError("agent: the stream ended without a result; call again")
    if (
        isinstance(last, Task)
        and str(last.status.state) in TERMINAL_STATES
        and not is_completed(last)
    ):
        fields = [
            f"\n  {to_safe_line(path) or 'value'}: {to_safe_line(text)}"
            for path, text in read_fields(last.status.message)
        ]
        reason = to_safe_text(join_texts(last.status.message)) or "the agent gives no reason"
        raise CallError(
            f"task {to_safe_line(last.id)}: {state_name(last)}: {reason}{''.join(fields)}"
        )


class CallReport:
    """Output of one call. Chunks that an agent repeats are printed once."""

    def __init__(self, *, as_json: bool, output: Path | None = None) -> None:
        self._as_json = as_json
        self._output = output
        self._printed: dict[str, list[Part]] = {}
        self._positions: dict[str, int] = {}
        self._is_in_line = False

    def print_result(self, result: Task | Message) -> None:
        """Print the result of a call."""
        if self._as_json:
            if isinstance(result, Task):
                print_json(SendMessageResponse(task=result))
            else:
                print_json(SendMessageResponse(message=result))
            return
        self._print_snapshot(result)
        self.close()

    def print_event(self, event: TaskEvent) -> None:
        """Print an event as it arrives."""
        if self._as_json:
            print_json(_to_stream_response(event))
        elif isinstance(event, TaskArtifactUpdateEvent):
            self._print_parts(
                event.artifact.artifact_id, event.artifact.parts, is_continued=bool(event.append)
            )
        elif isinstance(event, Task | Message):
            self._print_snapshot(event)

    def close(self) -> None:
        """End the line that chunks have begun."""
        if self._is_in_line:
            click.echo()
            self._is_in_line = False

    def _print_snapshot(self, result: Task | Message) -> None:
        if isinstance(result, Message):
            self._print_parts("", result.parts)
            return
        for artifact in result.artifacts or ():
            self._print_parts(artifact.artifact_id, artifact.parts)
        if is_completed(result) and not result.artifacts and result.status.message:
            self._print_parts("", result.status.message.parts)

    def _print_parts(self, key: str, parts: Sequence[Part], *, is_continued: bool = False) -> None:
        """Print the parts of an artifact that were not printed before; ``is_continued`` appends to
        them.
        """
        if key not in self._printed:
            self.close()
        printed = self._printed.setdefault(key, [])
        position = self._positions.get(key, 0) if is_continued else 0
        for part in parts:
            if position == len(printed) or printed[position] != part:
                del printed[position:]
                printed.append(part)
                self._print_part(part)
            position += 1
        self._positions[key] = position

    def _print_part(self, part: Part) -> None:
        if part.text is not None:
            click.echo(text := to_safe_text(part.text), nl=False)
            self._is_in_line = not text.endswith("\n") if text else self._is_in_line
            return
        self.close()
        if part.data is not None:
            value = None if part.data is JSON_NULL else part.data
            click.echo(to_safe_json(to_json(value, indent=2)))
        elif part.url is not None:
            click.echo(to_safe_line(part.url))
        elif part.raw is not None:
            self._print_file(part, part.raw)

    def _print_file(self, part: Part, content: bytes) -> None:
        """Save a file, or say that there is one."""
        name = _to_file_name(part.filename)
        if self._output is None:
            facts = f"{to_safe_line(part.media_type or 'unknown type')}, {len(content):,} bytes"
            print_line(f"{name}: {facts}, not saved; pass --output FOLDER")
            return
        path = _save(self._output, name, content)
        click.echo(str(path))


def _to_stream_response(event: TaskEvent) -> StreamResponse:
    match event:
        case Task():
            return StreamResponse(task=event)
        case Message():
            return StreamResponse(message=event)
        case TaskStatusUpdateEvent():
            return StreamResponse(status_update=event)
        case TaskArtifactUpdateEvent():
            return StreamResponse(artifact_update=event)


def _to_file_name(name: str | None) -> str:
    """Reduce the name that an agent gives to one below a folder: no path, no hidden file, nothing
    that a terminal reads.
    """
    last = (name or "").replace("\\", "/").rstrip("/").rpartition("/")[2].lstrip(".")
    cleaned = "".join(map(_clean_character, last))
    return cleaned.encode()[:200].decode(errors="ignore") or _UNKNOWN_NAME


def _clean_character(character: str) -> str:
    if not character.isprintable() or character in '<>:"|?*':
        return "_"
    return character


def _save(folder: Path, name: str, content: bytes) -> Path:
    """Write a new file; a name that is taken gets a number."""
    stem = Path(name).stem
    suffix = Path(name).suffix
    number = 1
    while True:
        numbered = name if number == 1 else f"{stem}-{number}{suffix}"
        path = folder / numbered
        try:
            with path.open("xb") as file:
                file.write(content)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise CallError(
                f"{path}: not saved: {(error.strerror or type(error).__name__).lower()}; "
                "pass another --output"
            ) from error
        else:
            return path

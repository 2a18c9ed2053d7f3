"""Content of a message from the words and files of a command line."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from mimetypes import guess_type
from pathlib import Path

from pydantic_core import from_json

from a2a_contract.base import JSON_NULL
from a2a_contract.v1_0 import Part
from a2a_runtime.cli.usage_errors import CommandUsageError

STANDARD_INPUT = "-"
_BINARY = "application/octet-stream"


def build_attachments(data: str | None, files: Iterable[str]) -> list[Part]:
    """Build the parts of a message beside its text: JSON, and files."""
    parts = [] if data is None else [Part(data=_parse_data(data))]
    return parts + [_build_file_part(each) for each in files]


def build_parts(words: Iterable[str], attachments: Iterable[Part]) -> list[Part]:
    """Build the parts of a message: the words as one text, then the others."""
    text = " ".join(words)
    if text == STANDARD_INPUT:
        text = _read_standard_input()
    parts = [*attachments]
    if text:
        parts.insert(0, Part(text=text))
    if not parts:
        raise CommandUsageError(
            "TEXT: nothing to send; give a text, - for standard input, --data or --file"
        )
    return parts


def _parse_data(given: str) -> object:
    """Parse JSON that is an argument, a file or standard input."""
    text: str | bytes = given
    if given == STANDARD_INPUT:
        text = _read_standard_input()
    elif given.startswith("@"):
        text = read_file(given[1:], "--data")
    try:
        value: object = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise CommandUsageError(
            f"--data: not JSON: {error}; give JSON, @FILE, or - for standard input"
        ) from None
    if value is None:
        return JSON_NULL
    return value


def _build_file_part(given: str) -> Part:
    """Build the part of a file, whose content is sent, or of a URL, which the agent fetches."""
    name = given.rstrip("/").rpartition("/")[2]
    media_type = guess_type(name)[0]
    if "://" in given:
        return Part(url=given, filename=name or None, media_type=media_type)
    return Part(
        raw=read_file(given, "--file"), filename=Path(given).name, media_type=media_type or _BINARY
    )


def read_file(path: str, option: str) -> bytes:
    """Read the file that an option names."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CommandUsageError(
            f"{option}: {path}: {(error.strerror or type(error).__name__).lower()}; name a "
            "file that can be read"
        ) from None


def _read_standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise CommandUsageError(
            "standard input: not UTF-8 text; send other content with --file"
        ) from None

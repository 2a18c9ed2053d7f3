"""Documents of a contract: text, data, and the line of every value.

``load_documents`` reads the folder of a contract for a build. ``examples`` are skipped, and a link
that leads out of the folder is refused, because the contract may come from an untrusted source.
Problems of all files are reported at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from a2a_gen.problems import ContractError, Place, Problem
from a2a_gen.source import json_text
from a2a_gen.source.json_text import Json, parse

_SKIPPED_FOLDERS = frozenset({"examples"})
JSON_SUFFIX = ".json"


@dataclass(frozen=True)
class Document:
    """One file of a contract; its path is relative to the folder of the contract, with slashes on
    every system.
    """

    path: str
    text: str
    data: Json

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """The line of every value by JSON pointer, computed on first use."""
        return json_text.find_line_numbers(self.text)

    def place_at(self, pointer: str = "") -> Place:
        """Return the place of a value; a missing value has the place of its nearest parent."""
        known = pointer
        while known and known not in self.lines:
            known = known.rpartition("/")[0]
        return Place(self.path, self.lines.get(known, 1), pointer)


def load_documents(root: Path) -> Mapping[str, Document]:
    """Read every file of a contract, sorted by path; raise one ``ContractError`` with every
    problem.
    """
    if not root.is_dir():
        cure = "create it, or correct `schema` in the project configuration"
        raise ContractError([Problem(Place("."), "A2A-S01", "the folder does not exist", cure)])
    problems: list[Problem] = []
    documents: dict[str, Document] = {}
    for file in find_contract_files(root):
        path = file.relative_to(root).as_posix()
        text = _read_text(root, file, path)
        if isinstance(text, Problem):
            problems.append(text)
            continue
        data, parse_problems = parse(text)
        documents[path] = Document(path, text, data)
        problems.extend(each.in_file(path) for each in parse_problems)
    if problems:
        raise ContractError(problems)
    return dict(sorted(documents.items()))


def find_contract_files(folder: Path) -> Iterator[Path]:
    """List the files of a contract without reading them."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            if entry.name not in _SKIPPED_FOLDERS and not entry.name.startswith("."):
                yield from find_contract_files(entry)
        elif entry.suffix == JSON_SUFFIX or entry.is_symlink():
            yield entry


def _read_text(root: Path, file: Path, path: str) -> str | Problem:
    if file.is_symlink() and not file.resolve().is_relative_to(root.resolve()):
        return Problem(
            Place(path),
            "A2A-S02",
            "the link leads out of the contract folder",
            "replace the link by the file",
        )
    try:
        return decode_text(file.read_bytes(), path)
    except OSError as error:
        return Problem(
            Place(path),
            "A2A-S03",
            f"the file cannot be read: {error.strerror}",
            "correct its permissions, or delete it",
        )


def decode_text(content: bytes, path: str) -> str | Problem:
    """Decode UTF-8, or return the problem with its line."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return Problem(
            Place(path, line),
            "A2A-S04",
            f"byte {error.start} is not UTF-8",
            "save the file as UTF-8",
        )

"""Documents from bytes, wherever they were read: a folder, a commit, an answer from the network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from a2a_gen.problems import ContractError, Place, Problem
from a2a_gen.source.documents import Document, contract_files
from a2a_gen.source.json_text import parse

_NOT_READ = frozenset({"examples", "node_modules"})
_BESIDE = frozenset({"a2a.toml"})


def is_read(path: str) -> bool:
    """Whether a file may belong to a contract or an agent: examples, hidden folders and other people's packages do not."""
    *folders, name = PurePosixPath(path).parts
    known = name.endswith(".json") or name in _BESIDE
    return known and not any(part.startswith(".") or part in _NOT_READ for part in (*folders, name))


def documents(blobs: Mapping[str, bytes], *, shown: str = "") -> dict[str, Document]:
    """Read every JSON file among some files, or raise everything that is wrong with them; ``shown`` stands before paths in messages."""
    found: dict[str, Document] = {}
    problems: list[Problem] = []
    for path, blob in sorted(blobs.items()):
        if not path.endswith(".json") or not is_read(path):
            continue
        name = f"{shown}{path}"
        try:
            text = blob.decode("utf-8")
        except UnicodeDecodeError as error:
            problems.append(Problem(Place(name), "A2A-S04", f"byte {error.start} is not UTF-8", "save the file in UTF-8"))
            continue
        data, mistakes = parse(text)
        found[path] = Document(path, text, data)
        problems += [Problem(Place(name, each.line, each.pointer), each.rule, each.text, each.cure) for each in mistakes]
    if problems:
        raise ContractError(problems)
    return found


def folder_blobs(folder: Path) -> dict[str, bytes]:
    """Read the JSON files below a folder."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in contract_files(folder) if file.is_file()}

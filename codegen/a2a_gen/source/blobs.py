"""Documents from bytes, wherever they were read: a folder, a commit, an answer from the network."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from a2a_gen.problems import ContractError, Place, Problem
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import parse

_NOT_READ = frozenset({"examples", "node_modules"})
_BESIDE = frozenset({"a2a.toml"})
_JSON, _YAML = ".json", (".yaml", ".yml")


def is_read(path: str) -> bool:
    """Whether a file may belong to a contract or an agent: examples, hidden folders and other people's packages do not."""
    *folders, name = PurePosixPath(path).parts
    known = name.endswith((_JSON, *_YAML)) or name in _BESIDE
    return known and not any(_is_hidden(part) for part in (*folders, name))


def folder_blobs(folder: Path) -> dict[str, bytes]:
    """Read the files below a folder that may belong to a contract or an agent."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in _files(folder) if is_read(file.name) and file.is_file()}


def documents(blobs: Mapping[str, bytes], *, shown: str = "") -> dict[str, Document]:
    """Read the JSON files among some files, or raise everything that is wrong with them; ``shown`` stands before paths in messages."""
    found, problems = readable({path: blob for path, blob in blobs.items() if path.endswith(_JSON)}, shown=shown)
    if problems:
        raise ContractError([problem for each in problems.values() for problem in each])
    return found


def readable(blobs: Mapping[str, bytes], *, shown: str = "") -> tuple[dict[str, Document], dict[str, list[Problem]]]:
    """Read the files in JSON and YAML that can be read, and say what is wrong with each of the others."""
    found: dict[str, Document] = {}
    problems: dict[str, list[Problem]] = {}
    for path, blob in sorted(blobs.items()):
        if is_read(path) and path not in _BESIDE:
            read = _document(path, blob, f"{shown}{path}")
            if isinstance(read, Document):
                found[path] = read
            else:
                problems[path] = read
    return found, problems


def _document(path: str, blob: bytes, name: str) -> Document | list[Problem]:
    try:
        text = blob.decode("utf-8")
    except UnicodeDecodeError as error:
        return [Problem(Place(name), "A2A-S04", f"byte {error.start} is not UTF-8", "save the file in UTF-8")]
    if path.endswith(_YAML):
        from a2a_gen.source import yaml_text  # noqa: PLC0415 - an extra that only those need who write YAML

        data, mistakes = yaml_text.parse(text)
        document: Document = yaml_text.YamlDocument(path, text, data)
    else:
        data, mistakes = parse(text)
        document = Document(path, text, data)
    return [Problem(Place(name, each.line, each.pointer), each.rule, each.text, each.cure) for each in mistakes] or document


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        yield from (Path(parent, name) for name in names)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name in _NOT_READ

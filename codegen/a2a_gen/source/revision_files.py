"""Files of a contract or an agent in memory: the bytes of a folder, a commit or a response by path,
and the documents in them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path, PurePosixPath

from a2a_gen.problems import ContractError, Problem
from a2a_gen.source.documents import JSON_SUFFIX, Document, decode_text
from a2a_gen.source.json_text import parse

_SKIPPED_FOLDERS = frozenset({"examples", "node_modules"})
# A contract is JSON; schemas of skills may also be YAML.
_YAML = (".yaml", ".yml")
_PROJECT_FILES = frozenset({"a2a.toml"})


def is_contract_file(path: str) -> bool:
    """Return true if a file may belong to a contract or an agent; examples, hidden folders and
    vendored packages do not.
    """
    *folders, name = PurePosixPath(path).parts
    has_known_name = name.endswith((JSON_SUFFIX, *_YAML)) or name in _PROJECT_FILES
    return has_known_name and not any(_is_hidden(part) for part in (*folders, name))


def read_folder(folder: Path) -> dict[str, bytes]:
    """Read the files below a folder that may belong to a contract or an agent."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in _walk_files(folder)
        if is_contract_file(file.name) and file.is_file()
    }


def parse_documents(
    blobs: Mapping[str, bytes], *, display_prefix: str = "", has_yaml: bool = False
) -> dict[str, Document]:
    """Parse JSON files, and YAML files if the schemas may be YAML, or raise every problem;
    ``display_prefix`` stands before paths in messages.
    """
    suffixes = (JSON_SUFFIX, *_YAML) if has_yaml else (JSON_SUFFIX,)
    chosen = {path: blob for path, blob in blobs.items() if path.endswith(suffixes)}
    documents, problems = parse_readable_documents(chosen, display_prefix=display_prefix)
    if problems:
        raise ContractError(list(chain.from_iterable(problems.values())))
    return documents


def parse_readable_documents(
    blobs: Mapping[str, bytes], *, display_prefix: str = ""
) -> tuple[dict[str, Document], dict[str, list[Problem]]]:
    """Parse JSON and YAML files; return the valid documents, and the problems of the other
    files.
    """
    documents: dict[str, Document] = {}
    problems: dict[str, list[Problem]] = {}
    for path, blob in sorted(blobs.items()):
        if is_contract_file(path) and path not in _PROJECT_FILES:
            result = _parse_document(path, blob, f"{display_prefix}{path}")
            if isinstance(result, Document):
                documents[path] = result
            else:
                problems[path] = result
    return documents, problems


def _parse_document(path: str, blob: bytes, name: str) -> Document | list[Problem]:
    text = decode_text(blob, name)
    if isinstance(text, Problem):
        return [text]
    if path.endswith(_YAML):
        from a2a_gen.source import yaml_text  # noqa: PLC0415 - an extra, only needed for YAML

        data, problems = yaml_text.parse(text)
        document: Document = yaml_text.YamlDocument(path, text, data)
    else:
        data, problems = parse(text)
        document = Document(path, text, data)
    return [each.in_file(name) for each in problems] or document


def _walk_files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        yield from (Path(parent, name) for name in names)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED_FOLDERS

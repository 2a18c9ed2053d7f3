"""Sides made of values instead of files, and other things that tests of the gate need."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from a2a_gen.diff.report import CompareOptions, Report, compare
from a2a_gen.diff.sides import ContractSide
from a2a_gen.source.documents import Document

ROOT = Path(__file__).parents[3]
RULES = ROOT / "tests" / "rules"
SMALLEST = ROOT / "tests" / "cases" / "smallest"
CARD = RULES / "skill-removed"
Run = Callable[..., tuple[int, str, str]]


def plain(**definitions: object) -> ContractSide:
    """Make a side of one file with some definitions."""
    return files({"schema.json": {"$defs": definitions}})


def files(tree: dict[str, object], *, is_plain: bool = True) -> ContractSide:
    """Make a side of some files."""
    return ContractSide({path: Document(path, json.dumps(data, indent=1), data) for path, data in sorted(tree.items())}, "old", is_plain=is_plain)


def diff(old: ContractSide, new: ContractSide, profile: str = "WIRE", **wish: object) -> Report:
    """Compare two sides."""
    return compare(old, new, CompareOptions(profile, **wish))


def ids(report: Report) -> list[str]:
    """Name the rules that found something, in their order."""
    return [finding.rule.id for finding in report.findings]


def git(folder: Path, *words: str) -> None:
    """Run git with a name of its own."""
    settings = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True)  # noqa: S607


def twins(rule: str) -> list[Path]:
    """The two versions of an example."""
    return [RULES / rule / "previous", RULES / rule / "current"]

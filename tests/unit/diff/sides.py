"""Sides made of values instead of files, for tests."""

from __future__ import annotations

import json

from a2a_gen.diff.gate import Report, Wish, compare
from a2a_gen.diff.side import Side
from a2a_gen.source.documents import Document


def plain(**definitions: object) -> Side:
    """Make a side of one file with some definitions."""
    return files({"schema.json": {"$defs": definitions}})


def files(tree: dict[str, object], *, is_plain: bool = True) -> Side:
    """Make a side of some files."""
    return Side({path: Document(path, json.dumps(data, indent=1), data) for path, data in sorted(tree.items())}, "old", is_plain=is_plain)


def diff(old: Side, new: Side, profile: str = "WIRE", **wish: object) -> Report:
    """Compare two sides."""
    return compare(old, new, Wish(profile, **wish))


def ids(report: Report) -> list[str]:
    """Name the rules that found something, in their order."""
    return [finding.rule.id for finding in report.findings]

"""Sides built from values instead of files, and other helpers of the tests of the breaking-change
check.
"""

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
CARD = "skill-removed"
VERSIONS = ("previous", "current", "allowed")
Run = Callable[..., tuple[int, str, str]]


def build_plain_side(**definitions: object) -> ContractSide:
    """Build a side of one file with some definitions."""
    return build_side_of_files({"schema.json": {"$defs": definitions}})


def build_side_of_files(tree: dict[str, object], *, is_plain: bool = True) -> ContractSide:
    """Build a side of some files."""
    return ContractSide(
        {
            path: Document(path, json.dumps(data, indent=1), data)
            for path, data in sorted(tree.items())
        },
        "old",
        is_plain=is_plain,
    )


def diff(old: ContractSide, new: ContractSide, profile: str = "WIRE", **wish: object) -> Report:
    """Compare two sides."""
    return compare(old, new, CompareOptions(profile, **wish))


def list_rule_ids(report: Report) -> list[str]:
    """List the rules of the findings, in order."""
    return [finding.rule.id for finding in report.findings]


def git(folder: Path, *words: str) -> None:
    """Run git with a fixed identity."""
    settings = [
        "-c",
        "user.name=Test",
        "-c",
        "user.email=test@example.org",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "protocol.file.allow=always",
    ]
    subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True)  # noqa: S607


def read_versions(rule: str) -> dict[str, dict[str, bytes]]:
    """Read the versions of an example, each its files by path; findings name lines of the text that
    is written here.
    """
    found = json.loads((RULES / f"{rule}.json").read_bytes())
    return {
        version: {
            path: json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"
            for path, document in found[version].items()
        }
        for version in VERSIONS
    }


def lay_out_versions(rule: str, folder: Path) -> list[Path]:
    """Write the versions of an example as folders, and return those of the base and the
    revision.
    """
    for version, files in read_versions(rule).items():
        for path, content in files.items():
            place = folder / rule / version / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    return [folder / rule / "previous", folder / rule / "current"]

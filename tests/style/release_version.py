"""The version of a release: the same in the package, in the first section of the CHANGELOG with a
number, and in its tag.

As a script it takes the tag, and exits with 1 if one of them differs. It needs no library.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
_SECTION = re.compile(r"^## (\d+\.\d+\.\d+\S*)(?: - (.+))?$", re.MULTILINE)


def read_package_version() -> str:
    """Read the version of the package."""
    found = _VERSION.search(
        (ROOT / "codegen" / "a2a_gen" / "__init__.py").read_text(encoding="utf-8")
    )
    if found:
        return found[1]
    return ""


def read_changelog_version() -> tuple[str, str]:
    """Read the version of the first section with a number, and its date."""
    found = _SECTION.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if found:
        return (found[1], found[2] or "")
    return ("", "")


def find_problems(tag: str) -> list[str]:
    """List what differs from a tag."""
    version = read_package_version()
    (section, date) = read_changelog_version()
    problems = []
    if tag != f"v{version}":
        problems.append(
            f"tag {tag}: the package has version {version}; tag the commit that has the "
            "version of the release"
        )
    if section != version:
        problems.append(
            f"CHANGELOG.md: the first section with a number is {section or 'missing'}, not "
            f"{version}; rename its section Unreleased"
        )
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        problems.append(
            f"CHANGELOG.md: the section {section} has no date; write ## {version} - YYYY-MM-DD"
        )
    return problems


if __name__ == "__main__":
    found_problems = find_problems(sys.argv[1])
    print("\n".join(found_problems) or "ready")  # noqa: T201 - the result of the script
    sys.exit(bool(found_problems))

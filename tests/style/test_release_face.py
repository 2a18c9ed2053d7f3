"""The first impression: the package page, pages for coding agents, the release workflow, the
version.
"""

from __future__ import annotations

import re
import runpy
import tomllib

import yaml
from style.agent_pages import render_pages
from style.release_version import find_problems, read_changelog_version, read_package_version
from style.source_files import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
COMMUNITY = (
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
)


def test_pages_for_coding_agents_are_up_to_date() -> None:
    """Commands, words and pages are those of today; run tests/style/agent_pages.py to update
    them.
    """
    stale = [
        str(path.relative_to(ROOT))
        for path, text in render_pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert stale == []


def test_the_example_of_the_skill_page_runs() -> None:
    """Python in the page of the wheel does what it says."""
    page = (ROOT / "codegen" / "a2a_gen" / "SKILL.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "<SKILL.md>", "exec", dont_inherit=True), {"__name__": "__main__"})  # noqa: S102 - our own page


def test_pages_of_the_community_are_there() -> None:
    """Each says something of this project."""
    assert [
        name for name in COMMUNITY if len((ROOT / name).read_text(encoding="utf-8")) < 500
    ] == []


def test_links_of_the_package_page_lead_somewhere() -> None:
    """They are absolute, below the tag of the version, and their files exist here."""
    base = f"{PROJECT['urls']['Repository']}/blob/v{read_package_version()}"
    page = runpy.run_path(str(ROOT / "hatch_build.py"))["make_links_absolute"](
        (ROOT / "README.md").read_text(encoding="utf-8"), base
    )
    links = re.findall(r"\]\(([^)\s]+)\)", page)
    own = [
        link.removeprefix(f"{base}/").partition("#")[0]
        for link in links
        if link.startswith(f"{base}/")
    ]
    assert len(own) > 10
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert [path for path in own if not (ROOT / path).exists()] == []


def test_the_project_names_its_addresses() -> None:
    """All are below the repository; authors and keywords are there."""
    assert all(url.startswith(PROJECT["urls"]["Repository"]) for url in PROJECT["urls"].values())
    assert PROJECT["authors"]
    assert "a2a" in PROJECT["keywords"]


def test_the_changelog_has_a_section_for_the_version() -> None:
    """A tag with another version is refused, and so is a section without a date."""
    assert read_changelog_version()[0] == read_package_version()
    assert "the package has version" in find_problems("v9.9.9")[0]


def test_only_the_job_that_publishes_asks_for_identities() -> None:
    """A maintainer has agreed before it runs."""
    jobs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job["permissions"]] == ["publish"]
    assert jobs["publish"]["environment"]["name"] == "pypi"

"""The package as it is built: the README with absolute links, because a package page has no files
beside it, and the page of the explorer, joined from its sources.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE_LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)\s]+)\)")
_IMAGE = ".png"
_EXPLORER = "a2a_runtime/features/explorer"


def make_links_absolute(text: str, base: str) -> str:
    """Make relative links of a page absolute; those of images lead to the file, not to a page about
    it.
    """
    files = base.replace("/blob/", "/raw/")
    return _RELATIVE_LINK.sub(
        lambda found: f"]({files if found[1].endswith(_IMAGE) else base}/{found[1]})", text
    )


class ReadmeHook(MetadataHookInterface):
    """Sets the README of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read README.md; its links lead to the tag of the version."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        base = f"{metadata['urls']['Repository']}/blob/v{metadata['version']}"
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": make_links_absolute(text, base),
        }


class ExplorerHook(BuildHookInterface):  # type: ignore[type-arg]  # of any kind of build
    """Adds the page of the explorer to a wheel; an editable installation has its sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Join the page."""
        if version == "editable":
            return
        module = runpy.run_path(str(Path(self.root) / "runtime" / _EXPLORER / "build_page.py"))
        self._folder = TemporaryDirectory()
        page = Path(self._folder.name) / "explorer.html"
        page.write_text(module["build_page"](), encoding="utf-8")
        build_data["force_include"][str(page)] = f"{_EXPLORER}/{page.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - as the hook has it
        """Remove what was joined."""
        if version != "editable":
            self._folder.cleanup()

"""Metadata of the package: the README with absolute links, because a package page has no files
beside it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE_LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)\s]+)\)")
_IMAGE = ".png"


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

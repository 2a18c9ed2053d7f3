"""The example of deployment files, made from the templates of `a2a-gen init --deploy`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from style.source_files import ROOT

from a2a_gen.commands.init import DEPLOYMENT, render_project

FOLDER = ROOT / "examples" / "deploy" / "hello"


def read_files(folder: Path) -> Mapping[str, str]:
    """Read all files of a folder by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def render_files() -> Mapping[str, str]:
    """Render the files of the example."""
    return dict(render_project(FOLDER.name, DEPLOYMENT))


if __name__ == "__main__":
    for name, text in render_files().items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8")

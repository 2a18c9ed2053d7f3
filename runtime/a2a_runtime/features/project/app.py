"""The app of a project folder."""

from __future__ import annotations

import os
from pathlib import Path

from litestar import Litestar

from a2a_runtime.app import create_app
from a2a_runtime.features.project.loader import load_project


def build_app(folder: Path) -> Litestar:
    """Build the app of the agents of a folder, with the settings of the environment."""
    project = load_project(folder, os.environ)
    return create_app(
        *project.surfaces,
        store=project.settings.store,
        settings=project.settings,
        mesh=project.mesh,
    )

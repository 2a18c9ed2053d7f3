"""Hooks of pre-commit: an environment of their own, with what their commands import."""

from __future__ import annotations

import tomllib

import yaml
from wheel import ROOT


def test_hooks_install_what_their_commands_import() -> None:
    """`diff` reads YAML, which the base does not; `check` builds, which takes the whole extra, in
    its versions.
    """
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]["build"]
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (reads_yaml,) = (each for each in build if each.startswith("pyyaml"))
    assert {each["id"]: each["additional_dependencies"] for each in hooks} == {
        "a2a-gen-diff": [reads_yaml],
        "a2a-gen-check": [".[build]"],
    }

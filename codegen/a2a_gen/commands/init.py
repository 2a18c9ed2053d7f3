"""``a2a-gen init``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from a2a_gen.problems import ProjectError
from a2a_gen.source.project import explain_invalid_package

EXAMPLES = """\b
Examples:
  a2a-gen init hello                              smallest agent with a typed skill
  a2a-gen init my-reports --template report       \
three skills: unary, streaming, and one that asks the caller
  a2a-gen init my-modules --template apcore       skills from apcore modules (pip install apcore)
  a2a-gen init hello --deploy                     \
with Dockerfile, compose, Kubernetes and systemd files
  a2a-gen init . --deploy                         these files for the project in this folder
  cd hello && a2a-gen build && a2a-gen serve"""

STARTERS = Path(__file__).parents[1] / "starters"
TEMPLATES = sorted(each.name for each in STARTERS.iterdir() if (each / "a2a.toml.in").is_file())
DEPLOYMENT = "deploy"
"""Template of the files that run a project."""
_SUFFIX = ".in"
_IMPORT = re.compile(r"^(from \w+\.contract import )(.+)$", re.MULTILINE)
"""Imports to sort again after names were replaced."""
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@click.command(epilog=EXAMPLES)
@click.argument("name")
@click.option(
    "--template",
    type=click.Choice(TEMPLATES),
    default="hello",
    show_default=True,
    help="Template of the project.",
)
@click.option(
    "--deploy",
    is_flag=True,
    help=(
        "Add files to run it: Dockerfile, compose, Kubernetes, systemd, proxies; also to an "
        "existing project."
    ),
)
def command(name: str, template: str, *, deploy: bool) -> None:
    """Create a new agent project.

    NAME may be a path; its last part is the name of the folder, the agent and the package, in
    lowercase letters, digits and hyphens. The folder must be empty or missing, or with --deploy a
    project, whose files stay as they are.
    """
    folder = Path(name)
    folder = folder if folder.name else folder.resolve()
    files = list(_select_files(folder, template, deploy=deploy))
    if taken := [path for path, _ in files if (folder / path).exists()]:
        raise ProjectError(
            f"{folder / taken[0]}: already exists",
            "remove or rename it, so that nothing of yours is overwritten",
        )
    is_new = not _is_project(folder)
    for path, text in files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    if not is_new:
        click.echo(f"{folder}: files added. Next: read deploy/README.md")
        return
    click.echo(
        f"{folder}: project created. Next steps:\n\n    cd {folder}\n    a2a-gen build\n    "
        "a2a-gen serve"
    )


def _select_files(folder: Path, template: str, *, deploy: bool) -> Iterator[tuple[str, str]]:
    """Yield the files to write, or raise if the name or the folder cannot be used."""
    if not _NAME.fullmatch(folder.name):
        raise click.BadParameter(
            f"{folder.name!r} is not an agent name; use lowercase letters, digits and hyphens",
            param_hint="NAME",
        )
    if why := explain_invalid_package(folder.name.replace("-", "_")):
        raise click.BadParameter(
            f"{folder.name!r} is not an agent name, since its package gets the same name: {why}",
            param_hint="NAME",
        )
    if deploy:
        yield from render_project(folder.name, DEPLOYMENT)
        if _is_project(folder):
            return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ProjectError(
            f"{folder}: already exists and is not empty", "choose another name, or an empty folder"
        )
    yield from render_project(folder.name, template)


def _is_project(folder: Path) -> bool:
    return (folder / "a2a.toml").is_file()


def render_project(name: str, template: str) -> Iterator[tuple[str, str]]:
    """Yield the files of a new project, by path."""
    words = _build_replacements(f"{template}-agent", name)
    home = STARTERS / template
    for file in sorted(each for each in home.rglob(f"*{_SUFFIX}") if each.is_file()):
        path = file.relative_to(home).as_posix().removesuffix(_SUFFIX)
        yield _replace_names(path, words), _replace_names(file.read_text(encoding="utf-8"), words)


def _build_replacements(old: str, new: str) -> Mapping[str, str]:
    return {
        old: new,
        old.replace("-", "_"): new.replace("-", "_"),
        _to_pascal_case(old): _to_pascal_case(new),
    }


def _to_pascal_case(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("-"))


def _replace_names(text: str, words: Mapping[str, str]) -> str:
    for old, new in words.items():
        text = text.replace(old, new)
    return _IMPORT.sub(
        lambda found: (
            found[1]
            + ", ".join(
                sorted(found[2].split(", "), key=lambda name: (name[0].islower(), name.lower()))
            )
        ),
        text,
    )

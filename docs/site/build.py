"""Builds the documentation site: ``make docs``; an argument names another folder than .venv/site.

    pages of the repository, at their paths ──┐
    commands, from their --help ──────────────┼──► source ──► mkdocs --strict ──► html
    Python API, named by packages ────────────┘

Pictures are copied. Links to other files lead to the repository. A link that leads nowhere fails
the build.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from peers.environments import interpreter  # noqa: E402 - of the tests
from style.agent_pages import list_documents  # noqa: E402 - as above

from a2a_gen.commands.cli import cli  # noqa: E402 - as above

SITE = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".venv" / "site").resolve()
ENVIRONMENT = "docs-site"
FOLDERS = ("docs", "codegen", "runtime", "schema", "tests", "bench", "examples")
API_PACKAGES = (
    *(
        "a2a_runtime.agent",
        "a2a_runtime.app",
        "a2a_runtime.surface",
        "a2a_runtime.plugin",
        "a2a_runtime.starlette",
        "a2a_runtime.engine.handlers.context",
    ),
    *(
        "a2a_runtime.client.client",
        "a2a_runtime.client.options",
        "a2a_runtime.client.stream",
        "a2a_runtime.client.errors",
        "a2a_runtime.client.auth",
    ),
    *(
        "a2a_runtime.client.oauth",
        "a2a_runtime.client.typed.client",
        "a2a_runtime.client.typed.conversation",
        "a2a_runtime.client.typed.errors",
    ),
    *(
        "a2a_runtime.auth.authenticators",
        "a2a_runtime.auth.gate",
        "a2a_runtime.features.push.verification",
        "a2a_runtime.testing.agent",
    ),
    *("a2a_runtime.stores.base", "a2a_runtime.errors", "a2a_contract.errors"),
)
"""Modules of the reference: what a user imports, in the order of use."""

_LINK = re.compile(r"(\]\()(?!https?://|mailto:|#)([^)#\s]+)(#[^)\s]*)?(\))")


def find_pages() -> Iterator[Path]:
    """Find the pages of the repository; inputs of tests are none."""
    yield from (path for path in sorted(ROOT.glob("*.md")) if path.name != "AGENTS.md")
    for folder in FOLDERS:
        paths = sorted((ROOT / folder).rglob("*.md"))
        yield from (
            path
            for path in paths
            if not {"cases", "starters", "site"} & set(path.relative_to(ROOT).parts)
            and path.name != "SKILL.md"
        )


def prepare() -> None:
    """Write the source of the site."""
    source = SITE / "source"
    shutil.rmtree(source, ignore_errors=True)
    pages, pictures = set(find_pages()), set((ROOT / "docs").rglob("*.png"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for page in pages:
        text = rewrite_links(
            page,
            page.read_text(encoding="utf-8"),
            pages | pictures,
            f"{project['urls']['Repository']}/blob/main",
        )
        write(source / page.relative_to(ROOT), text)
    for picture in pictures:
        copy = source / picture.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, copy)
    write(source / "docs" / "cli.md", render_cli())
    write(source / "docs" / "python.md", render_api())
    shutil.copyfile(ROOT / "docs" / "llms.txt", source / "llms.txt")


def write(path: Path, text: str) -> None:
    """Write a file and its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def rewrite_links(page: Path, text: str, pages: set[Path], base: str) -> str:
    """Lead links to files that are no pages to the repository; those to folders, to their page if
    they have one.
    """

    def rewrite(found: re.Match[str]) -> str:
        target = (page.parent / found[2]).resolve()
        if target in pages:
            return found[0]
        if target / "README.md" in pages:
            return f"{found[1]}{found[2].rstrip('/')}/README.md{found[3] or ''}{found[4]}"
        return f"{found[1]}{base}/{target.relative_to(ROOT)}{found[4]}"

    return _LINK.sub(rewrite, text)


def render_cli() -> str:
    """Render the help of every command."""
    lines = ["# Commands", "", "The help of every command, as `--help` prints it.", ""]
    for name, command in walk_commands(cli, "a2a-gen"):
        options = cli.context_settings["help_option_names"]
        context = click.Context(
            command,
            info_name=name,
            help_option_names=options,
            max_content_width=100,
            terminal_width=100,
        )
        lines += [f"## {name}", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(lines)


def walk_commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Walk a command and its subcommands."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            if found is not None:
                yield from walk_commands(found, f"{name} {each}")


def render_api() -> str:
    """Render the page of the Python API, which mkdocstrings fills."""
    head = (
        "# Python API\n\nWhat code of yours imports. `a2a_runtime` exports the most used names.\n\n"
    )
    return head + "\n".join(f"::: {name}\n" for name in API_PACKAGES)


def build_navigation() -> list[Mapping[str, object]]:
    """List the pages by the documentation's own table."""
    found = [
        {title: f"docs/{path.partition('#')[0]}"}
        for _, title, path in list_documents()
        if path.endswith(".md") and not path.startswith("..")
    ]
    references = [{"Commands": "docs/cli.md"}, {"Python API": "docs/python.md"}]
    return [
        {"a2a-gen": "README.md"},
        {"Documentation": ["docs/README.md", *found]},
        {"References": references},
        {"Changes": "CHANGELOG.md"},
    ]


def main() -> int:
    """Build the site."""
    prepare()
    config = (Path(__file__).parent / "mkdocs.yml").read_text(encoding="utf-8")
    path = SITE / "mkdocs.yml"
    relative = config.replace("../../.venv/site/", "").replace("../../", f"{ROOT}/")
    write(path, f"{relative}\nnav: {json.dumps(build_navigation())}\n")
    command = [
        str(interpreter(ENVIRONMENT)),
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        str(path),
    ]
    done = subprocess.run(
        command,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout + done.stderr if done.returncode else SITE / "html" / "index.html")  # noqa: T201 - the result of the script
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())

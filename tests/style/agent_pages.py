"""Pages for coding agents, made from the commands, the glossary and the list of pages: AGENTS.md,
SKILL.md in the wheel, docs/llms.txt.

Run as a script it writes them; a test compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path

import click
from style.source_files import ROOT

from a2a_gen.commands.cli import ENTRY_POINTS, OWN_COMMANDS, cli

_PAGES = ("AGENTS.md", "codegen/a2a_gen/SKILL.md", "docs/llms.txt")
_MAKE_TARGET = re.compile(r"^([a-z-]+):.*## (.+)$", re.MULTILINE)
_PAGE_ROW = re.compile(r"^\| ([^|]+) \| \[([^\]]+)\]\(([^)]+)\)", re.MULTILINE)
_TERM_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| [^|]* \|$", re.MULTILINE)


def render_pages() -> Mapping[Path, str]:
    """Render the pages, by path."""
    parts = {
        "targets": "\n".join(
            f"- `make {name}`: {text}"
            for name, text in _MAKE_TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8"))
        ),
        "commands": "\n".join(f"- `a2a-gen {name}`: {text}" for name, text in list_commands()),
        "pages": "\n".join(
            f"- [{title}]({path}): {goal.strip()}" for goal, title, path in list_documents()
        ),
        "words": "\n".join(f"- {concept}: **{word}**" for concept, word in list_words()),
    }
    templates = (
        (path, Path(__file__).parent / "pages" / f"{Path(path).name}.in") for path in _PAGES
    )
    return {
        ROOT / path: template.read_text(encoding="utf-8").format(**parts)
        for path, template in templates
    }


def list_commands() -> Iterator[tuple[str, str]]:
    """List all commands with the first paragraph of their help, subcommands too."""
    context = click.Context(cli)
    names = sorted({*OWN_COMMANDS, *(point.name for point in entry_points(group=ENTRY_POINTS))})
    for name in names:
        command = cli.get_command(context, name)
        assert command is not None
        yield from _describe(name, command)


def _describe(name: str, command: click.Command) -> Iterator[tuple[str, str]]:
    paragraph = (command.help or "").partition("\n\n")[0]
    yield name, " ".join(paragraph.split())
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            if found is not None:
                yield from _describe(f"{name} {each}", found)


def list_documents() -> list[tuple[str, str, str]]:
    """List the pages of the documentation: goal, title, path."""
    found: dict[str, tuple[str, str, str]] = {}
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for goal, title, path in _PAGE_ROW.findall(text):
        found.setdefault(path, (goal, title, path))
    return list(found.values())


def list_words() -> list[tuple[str, str]]:
    """List the words of the glossary with their concepts."""
    rows = _TERM_ROW.findall((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    return [
        (concept.strip(), word.strip())
        for concept, word in rows
        if concept.strip() not in {"concept", "---"}
    ]


if __name__ == "__main__":
    for path, text in render_pages().items():
        path.write_text(text, encoding="utf-8")

"""The words of the glossary: identifiers and prose of the product and of its tests keep to them,
and so do class names of the product.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from style.source_files import ROOT, Function, Source, sources

PRODUCT = sources("codegen", "runtime")
CODE = [*PRODUCT, *sources("tests")]
DOCUMENTS = [
    ROOT / "README.md",
    *sorted(
        path
        for folder in ("docs", "codegen", "runtime", "schema", "bench", "examples")
        for path in (ROOT / folder).rglob("*.md")
    ),
]
WORDS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("vocabulary.toml").read_text()
)
QUESTION = re.compile(r"(What|Who|Whose|Whom|Whether|How|Where|When|Why|Which)\b")
PROSE = re.compile(rf"\b({'|'.join(WORDS['prose'])})\b", re.IGNORECASE)
STORED = frozenset({"a2a_doorbell"})
"""Names that databases of users hold: they stay."""
LITERALS = frozenset(WORDS["literals"])


def test_names_use_the_glossary() -> None:
    """No part of an identifier is a word that the glossary replaces."""
    found = (
        (source, line, name, word)
        for source in CODE
        for line, name in names_defined_in(source)
        for word in forbidden_words(name)
    )
    assert [
        f"{source}:{line}: {name}: write {WORDS['identifiers'][word]!r} for {word!r}"
        for source, line, name, word in found
    ] == []


def test_prose_names_the_actor() -> None:
    """Docstrings, comments and messages name a client, a caller or a process, never a person."""
    assert [
        f"{source}:{line}: {report}"
        for source in CODE
        for line, text in prose_of(source)
        for report in wrong_words(text)
    ] == []


def test_documents_name_the_actor() -> None:
    """Documents keep to the words of the glossary; the glossary itself may name the words that it
    replaces.
    """
    lines = (
        (path, line, text)
        for path in DOCUMENTS
        if path.name != "glossary.md"
        for line, text in enumerate(path.read_text().splitlines(), 1)
    )
    assert [
        f"{path.relative_to(ROOT)}:{line}: {report}"
        for path, line, text in lines
        for report in wrong_words(text)
    ] == []


def test_docstrings_are_statements() -> None:
    """A docstring begins with a noun phrase or an imperative, not with a question word."""
    kinds = ast.Module | ast.ClassDef | Function
    documented = (
        (source, node)
        for source in CODE
        for node in ast.walk(source.tree)
        if isinstance(node, kinds)
    )
    found = (
        (source, getattr(node, "lineno", 1), text)
        for source, node in documented
        if (text := ast.get_docstring(node)) and QUESTION.match(text)
    )
    assert [
        f"{source}:{line}: begin with a noun phrase or an imperative: {text.splitlines()[0]}"
        for source, line, text in found
    ] == []


def test_a_class_name_has_one_meaning() -> None:
    """A public class name is defined once in the repository."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for source in PRODUCT:
        if str(source).endswith(
            "support/rows.py"
        ):  # rows of generated tables: the generator has the same rows
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{source}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def names_defined_in(source: Source) -> Iterator[tuple[int, str]]:
    """Find the identifiers that a module defines, its own name included."""
    yield 1, source.path.stem
    for node in ast.walk(source.tree):
        match node:
            case (
                ast.ClassDef(name=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.arg(arg=name)
            ):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name


def forbidden_words(name: str) -> list[str]:
    """Find the words of an identifier that the glossary replaces."""
    if name in STORED:
        return []
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)
    snake = f"_{'_'.join(part.lower() for part in parts)}_"
    return [word for word in WORDS["identifiers"] if f"_{word}_" in snake]


def prose_of(source: Source) -> Iterator[tuple[int, str]]:
    """Find the docstrings, comments and texts of a module, each with its line."""
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type in {tokenize.COMMENT, tokenize.STRING} and token.string not in LITERALS:
            yield token.start[0], token.string


def wrong_words(text: str) -> list[str]:
    """Report the words of a text that the glossary replaces."""
    return [f"write {WORDS['prose'][word.lower()]!r} for {word!r}" for word in PROSE.findall(text)]

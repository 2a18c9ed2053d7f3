"""Every schema that the skills reach, and the one name that each has in Python.

A definition is called as its author called it. The schema of a whole file is called by its title, else as its file, whoever uses it. Where two want
one name, the later one, in the order of files and pointers, gets the name of its file in front.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from keyword import iskeyword
from pathlib import PurePosixPath

from a2a_gen.agent import keywords
from a2a_gen.agent.library import Library, Target
from a2a_gen.source.json_text import Json
from a2a_gen.source.positions import unescaped
from a2a_gen.source.schemas import PROTOCOL

# What modules of models import, or Python has already.
_TAKEN = frozenset(
    """
    Annotated Any AwareDatetime BaseModel ClosedModel ConfigDict Field Json Literal None Number Optional SkillModel True TYPE_CHECKING TypeAlias
    TypeAliasType False Union date
    ABC AsyncIterator Agent Question SkillClient SkillContext SkillContract Surface
    """.split()  # noqa: SIM905 - a list would take ten lines
)
_WORD = re.compile(r"[A-Za-z0-9]+")


class Catalogue:
    """The schemas that are reached from some roots."""

    def __init__(self, library: Library, roots: Iterable[Target]) -> None:
        self.library = library
        self._references: dict[tuple[Target, str], Target | None] = {}
        self.targets = sorted(self._reached(roots))
        self._taken: set[str] = set(_TAKEN)
        self._taken |= {pascal(target.pointer.rpartition("/")[2]) for target in self.targets if target.file.startswith(PROTOCOL)}
        self.names = {target: self._name(target) for target in self.targets if not target.file.startswith(PROTOCOL)}

    def follow(self, origin: Target, text: str) -> Target | None:
        """Find what a reference means, as it was found before."""
        return self._references.get((Target(origin.file), text)) or self.library.resolve(text, origin)

    def unique(self, wanted: str, file: str) -> str:
        """Give a name that nothing else has."""
        stem = pascal(PurePosixPath(file).name.partition(".")[0])
        tries: Iterable[str] = (wanted, f"{stem}{wanted}", *(f"{wanted}{number}" for number in range(2, 1000)))
        name = next(each for each in tries if each not in self._taken)
        self._taken.add(name)
        return name

    def _reached(self, roots: Iterable[Target]) -> Iterator[Target]:
        waiting, seen = list(roots), set[Target]()
        while waiting:
            target = waiting.pop()
            if target in seen:
                continue
            seen.add(target)
            yield target
            waiting.extend(self._references_in(target, self.library.value(target)))

    def _references_in(self, place: Target, schema: Json) -> Iterator[Target]:
        if not isinstance(schema, dict):
            return
        text = keywords.reference(schema)
        if text is not None:
            found = self.library.resolve(text, place)
            self._references[Target(place.file), text] = found
            if found is not None:
                yield found
        for pointer, part in keywords.parts(schema):
            yield from self._references_in(Target(place.file, place.pointer + pointer), part)

    def _name(self, target: Target) -> str:
        holder, _, tail = target.pointer.rpartition("/")
        title = pascal(keywords.text(self.library.value(target), "title"))
        stem = pascal(PurePosixPath(target.file).name.partition(".")[0])
        if holder.rpartition("/")[2] in keywords.HOLDERS:
            wanted = pascal(unescaped(tail))
        elif target.pointer:
            wanted = stem + pascal(unescaped(tail))
        else:
            wanted = title or pascal(PurePosixPath(target.file).stem.removesuffix(".schema"))
        return self.unique(wanted or stem or "Value", target.file)


def pascal(text: str) -> str:
    """Make a name of a class: ``generate-report`` becomes ``GenerateReport``."""
    name = "".join(word[:1].upper() + word[1:] for word in _WORD.findall(text))
    return f"Type{name}" if name[:1].isdigit() or iskeyword(name) else name

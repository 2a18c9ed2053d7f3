"""Texts: patterns, formats and encodings."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff import value_set
from a2a_gen.diff.change import Change, Scene
from a2a_gen.diff.rules.rule import SAME, Levels, rule

PATTERN_ADDED = rule("A2A063 pattern-added", "text narrows E I I", "texts must match {new} now", mirror="pattern-removed")
PATTERN_REMOVED = rule("A2A068 pattern-removed", "text widens I E I", "texts need not match {old} any more", mirror="pattern-added")
PATTERN_CHANGED = rule(
    "A2A069 pattern-changed",
    "text both E E I",
    "the pattern {old} became {new}; whether one takes what the other takes is not decided",
    mirror=SAME,
)
FORMAT_CHANGED = rule("A2A043 format-changed", "text both W W W", "the format {old} became {new}", mirror=SAME)
ENCODING_CHANGED = rule("A2A044 content-encoding-changed", "text both E E E", "the encoding {old} became {new}", mirror=SAME)

RULES = (PATTERN_ADDED, PATTERN_REMOVED, PATTERN_CHANGED, FORMAT_CHANGED, ENCODING_CHANGED)

_AS_PYTHON_TYPE = frozenset({"date-time", "date", "time", "duration", "uuid", "byte", "binary"})


def compare_text(scene: Scene) -> Iterator[Change]:
    """Compare what texts must look like."""
    old, new = (value_set.patterns(atom.node) for atom in (scene.old, scene.new))
    gone, added = ", ".join(sorted(old - new)), ", ".join(sorted(new - old))
    if gone and added:
        yield scene.change(PATTERN_CHANGED, "pattern", old=gone, new=added)
    elif added:
        yield scene.change(PATTERN_ADDED, "pattern", new=added)
    elif gone:
        yield scene.change(PATTERN_REMOVED, "pattern", old=gone)
    formats = _said(scene, "format")
    if formats[0] != formats[1]:
        levels = Levels.of("E E E") if _AS_PYTHON_TYPE & set(", ".join(formats).split(", ")) else None
        yield scene.change(FORMAT_CHANGED, "format", old=formats[0], new=formats[1], levels=levels)
    encodings = _said(scene, "contentEncoding")
    if encodings[0] != encodings[1]:
        yield scene.change(ENCODING_CHANGED, "contentEncoding", old=encodings[0], new=encodings[1])


def _said(scene: Scene, keyword: str) -> tuple[str, str]:
    old, new = (", ".join(sorted({str(value) for value in atom.node.values(keyword)})) or "none" for atom in (scene.old, scene.new))
    return old, new

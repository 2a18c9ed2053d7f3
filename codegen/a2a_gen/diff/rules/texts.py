"""Strings: patterns, formats and encodings."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.change import RuleContext, SchemaChange
from a2a_gen.diff.rules.rule import ITSELF, ChangeLevels, define_rule
from a2a_gen.diff.tree import value_set

PATTERN_ADDED = define_rule(
    "A2A063 pattern-added",
    "text narrows E I I",
    "strings must now match {new}",
    mirror="pattern-removed",
)
PATTERN_REMOVED = define_rule(
    "A2A068 pattern-removed",
    "text widens I E I",
    "strings no longer have to match {old}",
    mirror="pattern-added",
)
PATTERN_CHANGED = define_rule(
    "A2A069 pattern-changed",
    "text both E E I",
    "the pattern changed from {old} to {new}; their overlap is not decided",
    mirror=ITSELF,
)
FORMAT_CHANGED = define_rule(
    "A2A043 format-changed",
    "text both W W W",
    "the format changed from {old} to {new}",
    mirror=ITSELF,
)
ENCODING_CHANGED = define_rule(
    "A2A044 content-encoding-changed",
    "text both E E E",
    "the encoding changed from {old} to {new}",
    mirror=ITSELF,
)

RULES = (PATTERN_ADDED, PATTERN_REMOVED, PATTERN_CHANGED, FORMAT_CHANGED, ENCODING_CHANGED)

_PYTHON_TYPE_FORMATS = frozenset(
    {"date-time", "date", "time", "duration", "uuid", "byte", "binary"}
)


def compare_text(context: RuleContext) -> Iterator[SchemaChange]:
    """Compare the patterns, formats and encodings of strings."""
    old, new = map(value_set.get_patterns, context.nodes)
    removed = ", ".join(sorted(old - new))
    added = ", ".join(sorted(new - old))
    if removed and added:
        yield context.build_change(PATTERN_CHANGED, "pattern", old=removed, new=added)
    elif added:
        yield context.build_change(PATTERN_ADDED, "pattern", new=added)
    elif removed:
        yield context.build_change(PATTERN_REMOVED, "pattern", old=removed)
    formats = _get_keyword_texts(context, "format")
    if formats[0] != formats[1]:
        levels = None
        if _PYTHON_TYPE_FORMATS & set(", ".join(formats).split(", ")):
            levels = ChangeLevels.parse("E E E")
        yield context.build_change(
            FORMAT_CHANGED, "format", old=formats[0], new=formats[1], levels=levels
        )
    encodings = _get_keyword_texts(context, "contentEncoding")
    if encodings[0] != encodings[1]:
        yield context.build_change(
            ENCODING_CHANGED, "contentEncoding", old=encodings[0], new=encodings[1]
        )


def _get_keyword_texts(context: RuleContext, keyword: str) -> tuple[str, str]:
    old, new = (sorted(set(map(str, node.values(keyword)))) for node in context.nodes)
    return ", ".join(old) or "none", ", ".join(new) or "none"

"""Keywords that are only compared as a whole: added, removed, or changed in a way that is not decided."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff import canonical
from a2a_gen.diff.change import Change, Pair, Scene
from a2a_gen.diff.keywords import OPAQUE, UNDERSTOOD, WITH_IF, is_annotation
from a2a_gen.diff.node import Node
from a2a_gen.diff.rules.rule import SAME, rule
from a2a_gen.diff.tree import Spot, Tree

ADDED = rule("A2A085", "applicator-added", "condition narrows E I I", "{name} was added, so that less is taken", mirror="applicator-removed")
REMOVED = rule("A2A087", "applicator-removed", "condition widens I E I", "{name} was removed, so that more is taken", mirror="applicator-added")
UNDECIDABLE = rule(
    "A2A086", "undecidable", "condition both W W I", "{name} changed; what that means for documents is not decided",
    "look at the two versions, and confirm the change in the ignore file", mirror=SAME,
)  # fmt: skip

RULES = (ADDED, REMOVED, UNDECIDABLE)


# Their mere presence takes less than their absence; of the others, only that they changed is known.
_NARROWING = frozenset({"not", "if", "contains", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedItems"})


def compare_conditions(scene: Scene) -> Iterator[Change]:
    """Compare the conditions of one kind of value."""
    old, new = (_said(tree, atom.node, scene.old.kind) for tree, atom in zip(scene.trees, (scene.old, scene.new), strict=True))
    for keyword in sorted(old.keys() | new.keys()):
        before, after = old.get(keyword, frozenset()), new.get(keyword, frozenset())
        if before == after:
            continue
        if keyword not in _NARROWING or (before - after and after - before):
            found = UNDECIDABLE
        else:
            found = ADDED if after - before else REMOVED
        yield scene.change(found, keyword, name=keyword)


def undecided_union(pair: Pair) -> Change:
    """Say that alternatives overlap where exactly one must hold, so that a change in one of them may do the opposite outside."""
    return Change(UNDECIDABLE, pair.old_at, pair.new_at, (("name", "a oneOf whose alternatives may overlap"),), pair)


def _said(tree: Tree, whole: Node, kind: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for spot in whole.spots:
        for keyword in spot.members:
            if keyword == "$ref" and isinstance(spot.members["$ref"], str) and tree.target(spot, str(spot.members["$ref"])) is None:
                found.setdefault(keyword, set()).add(str(spot.members["$ref"]))
            elif kind in OPAQUE.get(keyword, ()) or _is_unknown(keyword):
                found.setdefault(keyword, set()).add(_text(tree, spot, keyword))
    return {keyword: frozenset(texts - {"[]", "{}"} if keyword != "not" else texts) for keyword, texts in found.items()}


def _is_unknown(keyword: str) -> bool:
    return not (keyword in UNDERSTOOD or keyword in OPAQUE or keyword in WITH_IF or keyword in {"$ref", "allOf"} or is_annotation(keyword))


def _text(tree: Tree, spot: Spot, keyword: str) -> str:
    words = WITH_IF if keyword == "if" else (keyword,)
    part = {word: spot.members[word] for word in words if word in spot.members}
    spelled = canonical.text(tree, Spot(spot.file, spot.pointer, part))
    return "{}" if spelled in ('{"contains": {}}', '{"dependentRequired": {}}') else spelled

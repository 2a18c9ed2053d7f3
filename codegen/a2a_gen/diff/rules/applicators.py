"""Keywords that are only compared as a whole: added, removed, or changed in a way that is not decided."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.change import Change, Pair, Scene
from a2a_gen.diff.rules.rule import SAME, rule
from a2a_gen.diff.schema_node import OPAQUE, UNDERSTOOD, WITH_IF, Node, Spot, Tree, is_annotation

ADDED = rule("A2A085 applicator-added", "condition narrows E I I", "{name} was added, so that less is taken", mirror="applicator-removed")
REMOVED = rule("A2A087 applicator-removed", "condition widens I E I", "{name} was removed, so that more is taken", mirror="applicator-added")
UNDECIDABLE = rule(
    "A2A086 undecidable", "condition both W W I", "{name} changed; what that means for documents is not decided",
    "look at the two versions, and confirm the change in the ignore file", mirror=SAME,
)  # fmt: skip

RULES = (ADDED, REMOVED, UNDECIDABLE)


# Their mere presence takes less than their absence; of the others, only that they changed is known.
_NARROWING = frozenset({"not", "if", "contains", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedItems"})


def compare_conditions(scene: Scene) -> Iterator[Change]:
    """Compare the conditions of one kind of value."""
    old, new = (_said(tree, atom.node, scene.old.kind) for tree, atom in zip(scene.trees, (scene.old, scene.new), strict=True))
    for keyword in sorted(old.keys() | new.keys()):
        before, after = old.get(keyword, []), new.get(keyword, [])
        gone = [spot for spot in before if not any(scene.same(spot, other) for other in after)]
        added = [spot for spot in after if not any(scene.same(other, spot) for other in before)]
        if not gone and not added:
            continue
        is_undecided = keyword not in _NARROWING or (gone and added)
        found = UNDECIDABLE if is_undecided else ADDED if added else REMOVED
        yield scene.change(found, keyword, name=keyword)


def undecided_union(pair: Pair) -> Change:
    """Say that alternatives overlap where exactly one must hold, so that a change in one of them may do the opposite outside."""
    return Change(UNDECIDABLE, pair.old_at, pair.new_at, (("name", "a oneOf whose alternatives may overlap"),), pair)


def _said(tree: Tree, whole: Node, kind: str) -> dict[str, list[Spot]]:
    found: dict[str, list[Spot]] = {}
    for spot in whole.spots:
        for keyword, value in spot.members.items():
            is_lost = keyword == "$ref" and isinstance(value, str) and tree.target(spot, value) is None
            if is_lost or kind in OPAQUE.get(keyword, ()) or _is_unknown(keyword):
                words = WITH_IF if keyword == "if" else (keyword,)
                part = {word: spot.members[word] for word in words if word in spot.members}
                if value not in ({}, []) or keyword == "not":
                    found.setdefault(keyword, []).append(Spot(spot.file, f"{spot.pointer}#{keyword}", part))
    return found


def _is_unknown(keyword: str) -> bool:
    return not (keyword in UNDERSTOOD or keyword in OPAQUE or keyword in WITH_IF or keyword in {"$ref", "allOf"} or is_annotation(keyword))

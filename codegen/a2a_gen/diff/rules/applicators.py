"""Keywords that are only compared as a whole: added, removed, or changed in a way that is not decided."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.change import NodePair, RuleContext, SchemaChange
from a2a_gen.diff.rules.rule import ITSELF, define_rule
from a2a_gen.diff.schema_node import COMPARED, CONDITIONAL, OPAQUE, SchemaLocation, SchemaNode, SchemaTree, is_annotation

ADDED = define_rule("A2A085 applicator-added", "condition narrows E I I", "{name} was added, so that less is taken", mirror="applicator-removed")
REMOVED = define_rule("A2A087 applicator-removed", "condition widens I E I", "{name} was removed, so that more is taken", mirror="applicator-added")
UNDECIDABLE = define_rule(
    "A2A086 undecidable", "condition both W W I", "{name} changed; what that means for documents is not decided",
    "look at the two versions, and confirm the change in the ignore file", mirror=ITSELF,
)  # fmt: skip

RULES = (ADDED, REMOVED, UNDECIDABLE)


# Their mere presence takes less than their absence; of the others, only that they changed is known.
_NARROWING = frozenset({"not", "if", "contains", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedItems"})


def compare_conditions(context: RuleContext) -> Iterator[SchemaChange]:
    """Compare the conditions of one kind of value."""
    old, new = (_collect_conditions(tree, atom.node, context.old.kind) for tree, atom in zip(context.trees, (context.old, context.new), strict=True))
    for keyword in sorted(old.keys() | new.keys()):
        before, after = old.get(keyword, []), new.get(keyword, [])
        gone = [spot for spot in before if not any(context.is_same(spot, other) for other in after)]
        added = [spot for spot in after if not any(context.is_same(other, spot) for other in before)]
        if not gone and not added:
            continue
        is_undecided = keyword not in _NARROWING or (gone and added)
        found = UNDECIDABLE if is_undecided else ADDED if added else REMOVED
        yield context.build_change(found, keyword, name=keyword)


def build_undecided_union(pair: NodePair) -> SchemaChange:
    """Say that alternatives overlap where exactly one must hold, so that a change in one of them may do the opposite outside."""
    return SchemaChange(UNDECIDABLE, pair.old_location, pair.new_location, (("name", "a oneOf whose alternatives may overlap"),), pair)


def _collect_conditions(tree: SchemaTree, node: SchemaNode, kind: str) -> dict[str, list[SchemaLocation]]:
    found: dict[str, list[SchemaLocation]] = {}
    for spot in node.schemas:
        for keyword, value in spot.members.items():
            is_lost = keyword == "$ref" and isinstance(value, str) and tree.resolve(spot, value) is None
            if is_lost or kind in OPAQUE.get(keyword, ()) or _is_unknown(keyword):
                words = CONDITIONAL if keyword == "if" else (keyword,)
                part = {word: spot.members[word] for word in words if word in spot.members}
                if value not in ({}, []) or keyword == "not":
                    found.setdefault(keyword, []).append(SchemaLocation(spot.file, f"{spot.pointer}#{keyword}", part))
    return found


def _is_unknown(keyword: str) -> bool:
    return not (keyword in COMPARED or keyword in OPAQUE or keyword in CONDITIONAL or keyword in {"$ref", "allOf"} or is_annotation(keyword))

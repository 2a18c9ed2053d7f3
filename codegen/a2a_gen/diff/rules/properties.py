"""Members of objects: added, removed, renamed, required or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from a2a_gen.diff import members
from a2a_gen.diff.change import Change, Focus, Found, Scene
from a2a_gen.diff.rules.rule import SAME, Level, Levels, rule

ADDED_OPTIONAL = rule(
    "A2A020 property-added-optional", "property none I I I", "{name} was added, and may be missing", mirror="property-removed-optional"
)
ADDED_TO_CLOSED = rule(
    "A2A021 property-added-optional-to-closed", "property widens I E I", "{name} was added, and readers that know all members refuse it",
    mirror="property-removed-from-closed",
)  # fmt: skip
ADDED_REQUIRED = rule(
    "A2A022 property-added-required", "property narrows E I E", "{name} was added, and must be there",
    "make it optional, or say what a reader puts in its place", mirror="property-removed-required",
)  # fmt: skip
ADDED_WITH_DEFAULT = rule(
    "A2A023 property-added-required-with-default", "property narrows W I W", "{name} was added; readers fill it in where it is missing",
    "nothing, where readers are lenient; requests are read strictly", mirror="property-removed-required",
)  # fmt: skip
REMOVED_OPTIONAL = rule(
    "A2A024 property-removed-optional", "property none W W E", "{name} was removed; it is ignored when it is sent",
    'mark it "deprecated" first, and reserve its name and number', mirror="property-added-optional",
)  # fmt: skip
REMOVED_REQUIRED = rule(
    "A2A025 property-removed-required", "property widens I E E", "{name} was removed, and was always there", mirror="property-added-required"
)
REMOVED_FROM_CLOSED = rule(
    "A2A026 property-removed-from-closed", "property narrows E W E", "{name} was removed, and is refused now",
    mirror="property-added-optional-to-closed",
)  # fmt: skip
RENAMED = rule("A2A027 property-renamed", "property both E E E", "{old} is called {new} now", 'keep the old name in "x-a2a-aliases"', mirror=SAME)
RENAMED_ALIAS = rule("A2A028 property-renamed-alias-kept", "property both I E E", "{old} is called {new} now; readers take both names", mirror=SAME)
SHAPED = rule(
    "A2A029 free-object-shaped", "property narrows E I W", "{name} was added to an object that was free, so it may have held something else",
    waiver="an object whose last named member goes takes more than before, which property-removed-optional says",
)  # fmt: skip
BECAME_REQUIRED = rule("A2A030 became-required", "property narrows E I E", "{name} must be there now", mirror="became-optional")
BECAME_OPTIONAL = rule("A2A031 became-optional", "property widens I E E", "{name} may be missing now", mirror="became-required")

RULES = (
    ADDED_OPTIONAL, ADDED_TO_CLOSED, ADDED_REQUIRED, ADDED_WITH_DEFAULT, REMOVED_OPTIONAL, REMOVED_REQUIRED,
    REMOVED_FROM_CLOSED, RENAMED, RENAMED_ALIAS, SHAPED, BECAME_REQUIRED, BECAME_OPTIONAL,
)  # fmt: skip


def compare_members(scene: Scene) -> Iterator[Found]:
    """Compare the members that are named on either side."""
    old, new = scene.old.node, scene.new.node
    renamed = _renamed(scene)
    for name in dict.fromkeys((*members.names(old), *members.names(new))):
        if name in renamed or name in renamed.values():
            continue
        before, after = members.spot_of(old, name), members.spot_of(new, name)
        if before and after:
            yield _descend(scene, name)
        elif after:
            yield from _added(scene, name)
        else:
            yield from _removed(scene, name)
    for name, now in renamed.items():
        kept = now in members.names(new) and name in _aliases(scene, now)
        yield scene.change(
            RENAMED_ALIAS if kept else RENAMED, "properties", now, focus=Focus(having=(name, now), without=(now, name)), old=name, new=now
        )
    yield from _required(scene, renamed)


def _required(scene: Scene, renamed: Mapping[str, str]) -> Iterator[Change]:
    old, new = scene.old.node, scene.new.node
    both = {*members.names(old)} & {*members.names(new)}
    nameless = (members.required(old) ^ members.required(new)) - {*members.names(old)} - {*members.names(new)}
    for name in sorted((both | nameless) - renamed.keys() - set(renamed.values())):
        was, must = name in members.required(old), name in members.required(new)
        if must and not was:
            filled = members.fact(new, "x-a2a-read", name)
            yield scene.change(BECAME_REQUIRED, "required", name=name, levels=Levels.of("W I W") if filled else None, focus=_lacking(name))
        elif was and not must:
            filled = members.fact(old, "x-a2a-read", name)
            yield scene.change(BECAME_OPTIONAL, "required", name=name, levels=Levels.of("I W W") if filled else None, focus=_lacking(name))


def _descend(scene: Scene, name: str) -> Found:
    old = members.member(scene.trees[0], scene.old.node, name)
    new = members.member(scene.trees[1], scene.new.node, name)
    return scene.child(old, new, ("member", name), "properties", name)


def _added(scene: Scene, name: str) -> Iterator[Found]:
    before = members.member(scene.trees[0], scene.old.node, name)
    must, knew = name in members.required(scene.new.node), name in members.required(scene.old.node)
    if must and not knew:
        filled = members.fact(scene.new.node, "x-a2a-read", name)
        yield scene.change(ADDED_WITH_DEFAULT if filled else ADDED_REQUIRED, "properties", name, name=name, focus=_lacking(name))
    if knew and not must:
        yield scene.change(BECAME_OPTIONAL, "required", name=name, focus=_lacking(name))
    if before.is_impossible:
        yield scene.change(ADDED_TO_CLOSED, "properties", name, name=name, focus=_holding(name))
    elif not before.is_anything:
        yield _descend(scene, name)
    elif not members.names(scene.old.node):
        yield from _shaped(scene, name)
    elif not must:
        yield scene.change(ADDED_OPTIONAL, "properties", name, name=name)


def _shaped(scene: Scene, name: str) -> Iterator[Change]:
    if not members.member(scene.trees[1], scene.new.node, name).is_anything:
        yield scene.change(SHAPED, "properties", name, name=name, focus=_holding(name))


def _removed(scene: Scene, name: str) -> Iterator[Found]:
    after = members.member(scene.trees[1], scene.new.node, name)
    was, must = name in members.required(scene.old.node), name in members.required(scene.new.node)
    softer = _softened(scene, name)
    if must and not was:
        yield scene.change(BECAME_REQUIRED, "required", name=name, focus=_lacking(name))
    if after.is_impossible:
        levels = Levels(Level.ERROR, Level.ERROR if was else Level.WARNING, Level.ERROR)
        yield scene.change(REMOVED_FROM_CLOSED, "properties", name, name=name, levels=softer or levels, focus=_holding(name))
        if was:
            yield scene.change(REMOVED_REQUIRED, "properties", name, name=name, levels=softer, focus=_lacking(name))
    elif was and not must:
        filled = members.fact(scene.old.node, "x-a2a-read", name)
        yield scene.change(
            REMOVED_REQUIRED,
            "properties",
            name,
            name=name,
            levels=softer or (Levels.of("I W E") if filled else None),
            focus=_lacking(name),
        )
    elif after.is_anything and not must:
        yield scene.change(REMOVED_OPTIONAL, "properties", name, name=name, levels=softer)
    if not after.is_impossible and not after.is_anything:
        yield _descend(scene, name)
    elif after.is_anything and not members.names(scene.new.node) and not members.member(scene.trees[0], scene.old.node, name).is_anything:
        yield scene.change(REMOVED_OPTIONAL, "properties", name, name=name, levels=Levels.of("W E E"))


def _lacking(name: str) -> Focus:
    return Focus(without=(name, name))


def _holding(name: str) -> Focus:
    return Focus(having=(name, name))


def _softened(scene: Scene, name: str) -> Levels | None:
    """Whether the contract says that the name is given up for good."""
    reserved = (value.get("properties") for value in scene.new.node.values("x-reserved") if isinstance(value, dict))
    return Levels.of("I I E") if any(isinstance(each, list) and name in each for each in reserved) else None


def _aliases(scene: Scene, name: str) -> list[str]:
    listed = members.member_fact(scene.new.node, name, "x-a2a-aliases")
    return [str(each) for each in listed] if isinstance(listed, list) else []


def _renamed(scene: Scene) -> dict[str, str]:
    """Find members that have another name and are the same: by what the new one says, or by their number."""
    old, new = scene.old.node, scene.new.node
    gone = [name for name in members.names(old) if members.spot_of(new, name) is None]
    added = [name for name in members.names(new) if members.spot_of(old, name) is None]
    found: dict[str, str] = {}
    for name in added:
        said = members.member_fact(new, name, "x-renamed-from")
        before = [each for each in gone if each == said or each in _aliases(scene, name)]
        number = proto_number(scene, 1, name)
        before += [each for each in gone if number is not None and proto_number(scene, 0, each) == number and _is_same(scene, each, name)]
        if before and before[0] not in found:
            found[before[0]] = name
    return found


def _is_same(scene: Scene, before: str, after: str) -> bool:
    """Whether two members of one number have kinds in common: a number that means something else is taken again, not renamed."""
    spots = members.spot_of(scene.old.node, before), members.spot_of(scene.new.node, after)
    said = [spot.members.get("type", spot.members.get("$ref")) for spot in spots if spot]
    return len(said) == 2 and said[0] == said[1]  # noqa: PLR2004 - both are there


def proto_number(scene: Scene, side: int, name: str) -> int | None:
    """Read the number that a member has in the protocol buffer."""
    said = members.member_fact((scene.old.node, scene.new.node)[side], name, "x-proto")
    number = said.get("number") if isinstance(said, dict) else None
    return number if isinstance(number, int) else None

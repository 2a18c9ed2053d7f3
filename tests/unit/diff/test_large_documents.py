"""Unions of many branches, and definitions that change only through others."""

from __future__ import annotations

import time

from unit.diff.sides import build_plain_side, diff

_OLD = {
    "type": "object",
    "properties": {
        "kind": {"type": "string"},
        "size": {"type": "integer"},
        "name": {"type": "string"},
    },
    "required": ["kind"],
}
_OTHER = {
    "type": "object",
    "properties": {"url": {"type": "string"}, "alt": {"type": "string"}},
    "required": ["url"],
}


def test_branches_are_paired_by_what_they_say() -> None:
    """A branch that became stricter is that one change, although nothing names the branch, also
    when its neighbours changed too.
    """
    stricter = {**_OLD, "required": ["kind", "size"]}
    opened = {**_OTHER, "properties": {**_OTHER["properties"], "title": {"type": "string"}}}  # type: ignore[dict-item]
    report = diff(
        build_plain_side(Thing={"anyOf": [_OLD, _OTHER]}),
        build_plain_side(Thing={"anyOf": [opened, stricter]}),
    )
    assert {(each.rule.id, each.text) for each in report.findings} >= {
        ("became-required", "size is now required")
    }
    assert not {"union-branch-added", "union-branch-removed"} & {
        each.rule.id for each in report.findings
    }


def test_branches_are_paired_by_their_titles() -> None:
    """A title says what a branch is, whatever else changed in it."""
    old = build_plain_side(
        Thing={
            "anyOf": [
                {"title": "Point", "type": "array", "items": {"type": "integer"}},
                {"type": "array", "items": {"type": "null"}},
            ]
        }
    )
    new = build_plain_side(
        Thing={
            "anyOf": [
                {"type": "array", "items": {"type": "null"}},
                {"title": "Point", "type": "array", "items": {"type": "number"}, "maxItems": 2},
            ]
        }
    )
    assert {each.rule.id for each in diff(old, new).findings} == {"type-widened", "bound-set"}


def test_a_title_of_several_branches_pairs_none() -> None:
    """Branches whose titles are equal are found by what they say, in any order."""
    branches = [{**_OLD, "title": "Thing"}, {**_OTHER, "title": "Thing"}]
    assert (
        diff(
            build_plain_side(Thing={"anyOf": branches}),
            build_plain_side(Thing={"anyOf": branches[::-1]}),
        ).findings
        == ()
    )
    opened = {**branches[1], "properties": {**_OTHER["properties"], "title": {"type": "string"}}}  # type: ignore[dict-item]
    report = diff(
        build_plain_side(Thing={"anyOf": branches}),
        build_plain_side(Thing={"anyOf": [opened, branches[0]]}),
    )
    assert {each.rule.id for each in report.findings} == {"property-added-optional"}


def test_alternatives_of_one_definition_are_paired() -> None:
    """A definition has several alternatives of its name; a member that is written as a definition
    of its own removes none.
    """
    union = {
        "oneOf": [True, {"minLength": 1}, True],
        "unevaluatedItems": {"required": ["b"], "$ref": "#/$defs/Thing"},
    }
    text = {"type": "string", "format": "date"}
    old = build_plain_side(
        Root={"$ref": "#/$defs/Thing"}, Thing={**union, "patternProperties": {"b$": text}}
    )
    new = build_plain_side(
        Root={"$ref": "#/$defs/Thing"},
        Thing={**union, "patternProperties": {"b$": {"$ref": "#/$defs/Text"}}},
        Text=text,
    )
    assert "union-branch-removed" not in {each.rule.id for each in diff(old, new).findings}


def test_a_change_far_below_is_reported_once() -> None:
    """Definitions of equal text are not compared again because one that they lead to has
    changed.
    """
    chain = {
        f"D{index}": {"type": "object", "properties": {"next": {"$ref": f"#/$defs/D{index + 1}"}}}
        for index in range(300)
    }
    start = time.process_time()
    reports = [
        diff(
            build_plain_side(**chain, D300={"type": "string"}),
            build_plain_side(**chain, D300={"type": "string", "maxLength": 3}),
        )
    ]
    assert [(each.rule.id, each.definition) for each in reports[0].findings] == [
        ("bound-set", "D300")
    ]
    assert time.process_time() - start < 10


def test_an_error_without_a_witness_says_why() -> None:
    """A change of meaning has no document that shows it."""
    (finding,) = [
        each
        for each in diff(
            build_plain_side(Thing={"type": "string", "contentEncoding": "base64"}),
            build_plain_side(Thing={"type": "string", "contentEncoding": "base32"}),
        ).findings
        if each.rule.id == "content-encoding-changed"
    ]
    assert not finding.witnesses
    assert "mean something else" in finding.missing_witness


def test_an_undecided_change_fails_where_the_profile_says_so() -> None:
    """FULL accepts nothing that is not proven; the other profiles warn."""
    old, new = (
        build_plain_side(Thing={"type": "string", "not": {"pattern": pattern}})
        for pattern in ("^(a|b)*$", "^(b|a)*$")
    )
    levels = {
        profile: {
            str(each.level)
            for each in diff(old, new, profile).findings
            if each.rule.id == "undecidable"
        }
        for profile in ("FULL", "WIRE")
    }
    assert levels == {"FULL": {"error"}, "WIRE": {"warning"}}


def test_an_undecided_union_fails_where_the_profile_says_so() -> None:
    """FULL fails as well where the finding names no keyword."""
    old, new = (
        build_plain_side(Thing={"type": "string", "oneOf": [{"pattern": each}, {"const": "c"}]})
        for each in ("^(a|b)*$", "^(b|a)*$")
    )
    assert {
        str(each.level) for each in diff(old, new, "FULL").findings if each.rule.id == "undecidable"
    } == {"error"}

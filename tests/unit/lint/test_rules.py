"""Lint rules; every case changes one thing in the small contract, once so that the rule applies and
once so that it does not.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from a2a_gen.ir.build import assemble, build_contract
from a2a_gen.lint.rules import FORM, RULES, run_rules
from a2a_gen.problems import Level, Problem
from a2a_gen.source.documents import Document, load_documents

Small = Callable[[Mapping[str, object]], Mapping[str, Document]]
SCHEMA = Path(__file__).parents[3] / "schema"

MESSAGE = "v1/message.json#"
PART = f"{MESSAGE}/$defs/Part"
TEXT = f"{PART}/properties/text"
ROLE = f"{MESSAGE}/$defs/Role"
TASK = "v1/task.json#/$defs/Task"
EVENT = "v0/task.json#/$defs/Event"
KIND = "v0/task.json#/$defs/Task/properties/kind"
ITEM = "v0/task.json#/$defs/Item"
META = "meta/family.schema.json"


def find_problems(documents: Mapping[str, Document]) -> tuple[Problem, ...]:
    """Build the contract as far as possible, and apply every rule."""
    return run_rules(assemble(documents)[0], documents)


def build_cases(*keywords: str) -> list[tuple[str, str, dict[str, object]]]:
    """Build a case for each of some unrepresentable keywords."""
    return [(f"{TEXT}/{keyword}", f"{TEXT}/{keyword}", {"type": "string"}) for keyword in keywords]


VIOLATIONS: tuple[tuple[str, str, str, object], ...] = (
    ("A2A-L01", f"{TEXT}/patern", f"{TEXT}/patern", "^a"),
    (
        "A2A-L01",
        "operations.json#/operations/0/streems",
        "operations.json#/operations/0/streems",
        True,
    ),
    ("A2A-L01", "errors.json#/errors/1/http", "errors.json#/errors/1/http", 200),
    ("A2A-L01", "lifecycle.json#/states/1/next", "lifecycle.json#/states/1/next", ["NEW"]),
    (
        "A2A-L01",
        "dialects.json#/dialects/1/types/0/members/name/rule",
        "dialects.json#/dialects/1/types/0/members/name/rule",
        "magic",
    ),
    ("A2A-L01", "operations.json#/$schema", "operations.json#/$schema", "meta/nothing.schema.json"),
    *(
        ("A2A-L02", *case)
        for case in build_cases(
            "not",
            "if",
            "then",
            "else",
            "contains",
            "propertyNames",
            "unevaluatedProperties",
            "unevaluatedItems",
        )
    ),
    ("A2A-L02", f"{PART}/patternProperties", f"{PART}/patternProperties", {"^x": {}}),
    ("A2A-L02", f"{PART}/dependentRequired", f"{PART}/dependentRequired", {"text": ["raw"]}),
    ("A2A-L02", f"{TEXT}/prefixItems", f"{TEXT}/prefixItems", [{}]),
    ("A2A-L02", f"{TEXT}/allOf", f"{TEXT}/allOf", [{}]),
    (
        "A2A-L02",
        f"{TASK}/properties/parts/uniqueItems",
        f"{TASK}/properties/parts/uniqueItems",
        True,
    ),
    ("A2A-L03", f"{PART}/properties/never", f"{PART}/properties/never", False),
    ("A2A-L03", f"{TASK}/properties/parts/items", f"{TASK}/properties/parts/items", True),
    ("A2A-L04", f"{TEXT}/pattern", f"{TEXT}/pattern", "^(?!x)"),
    ("A2A-L04", f"{TEXT}/pattern", f"{TEXT}/pattern", "(?<=x)y"),
    ("A2A-L05", f"{ROLE}/type", f"{ROLE}/enum", "integer"),
    ("A2A-L06", f"{TEXT}/enum", TEXT, ["a", "b"]),
    (
        "A2A-L06",
        f"{TASK}/properties/parts/items",
        f"{TASK}/properties/parts/items",
        {"type": "object", "properties": {}},
    ),
    (
        "A2A-L07",
        f"{EVENT}/properties",
        ITEM,
        {"kind": {"const": "task"}, "name": {"type": "string"}},
    ),
    ("A2A-L08", f"{MESSAGE}/description", MESSAGE, ""),
    ("A2A-L08", f"{PART}/description", PART, ""),
    ("A2A-L09", f"{PART}/additionalProperties", f"{PART}/additionalProperties", False),
    ("A2A-L09", f"{PART}/additionalProperties", f"{PART}/additionalProperties", {"type": "string"}),
    ("A2A-L10", f"{MESSAGE}/title", f"{MESSAGE}/title", "part"),
    ("A2A-L10", f"{TEXT}/title", f"{TEXT}/title", "Text"),
    (
        "A2A-L11",
        f"{PART}/properties/data",
        f"{PART}/properties/data/$ref",
        {"$ref": "task.json#/$defs/Task"},
    ),
    (
        "A2A-L12",
        f"{PART}/properties/data",
        f"{PART}/properties/data/$ref",
        {"$ref": "https://example.org/x.json#/$defs/X"},
    ),
    ("A2A-L13", f"{TEXT}/x-proto", TEXT, None),
    ("A2A-L13", f"{ROLE}/x-proto/values", ROLE, {"ROLE_USER": 1}),
    ("A2A-L14", f"{TEXT}/x-proto/number", f"{PART}/properties/raw", 2),
    ("A2A-L14", f"{ROLE}/x-proto/values/ROLE_AGENT", ROLE, 1),
    ("A2A-L15", f"{PART}/x-a2a-oneof", f"{PART}/oneOf", ""),
    ("A2A-L15", f"{TASK}/x-a2a-oneof", f"{TASK}/x-a2a-oneof", "group"),
    ("A2A-L15", f"{PART}/oneOf/0/required", PART, ["nothing"]),
    (
        "A2A-L15",
        f"{TASK}/properties/extra",
        f"{TASK}/properties/extra/anyOf",
        {"anyOf": [{"type": "string"}], "x-proto": {"number": 9}},
    ),
    ("A2A-L16", f"{TASK}/x-a2a-read/state", f"{TASK}/x-a2a-read/state", "TASK_STATE_NEW"),
    ("A2A-L17", f"{TASK}/required", f"{TASK}/required", ["id", "parts", "nothing"]),
    ("A2A-L18", f"{ROLE}/x-enum-varnames", f"{ROLE}/x-enum-varnames", ["USER"]),
    ("A2A-L19", f"{TEXT}/x-a2a-aliases", TEXT, ["raw"]),
    ("A2A-L19", f"{TEXT}/x-a2a-aliases", f"{PART}/properties/mediaType", ["mimeType"]),
    ("A2A-L20", f"{TEXT}/format", f"{TEXT}/format", "byte"),
    ("A2A-L20", f"{TEXT}/format", f"{TEXT}/format", "uri"),
    ("A2A-L21", f"{TEXT}/default", f"{TEXT}/default", "a"),
    ("A2A-L22", f"{KIND}/const", f"{KIND}/const", True),
    ("A2A-L22", f"{KIND}/const", f"{KIND}/const", None),
    ("A2A-L23", f"{TASK}/properties/state/minLength", f"{TASK}/properties/state/minLength", 1),
    ("A2A-L24", f"{ITEM}/oneOf/0", ITEM, {"type": "string"}),
)

ALLOWED: tuple[tuple[str, str, object], ...] = (
    ("A2A-L01", f"{TEXT}/minLength", 1),
    (
        "A2A-L02",
        f"{PART}/properties/not",
        {"description": "A member of this name.", "x-proto": {"number": 9}},
    ),
    ("A2A-L03", f"{PART}/additionalProperties", True),
    ("A2A-L04", f"{TEXT}/pattern", "^(a|b)(?:c)$"),
    ("A2A-L05", f"{MESSAGE}/$defs/enum", {"description": "A type of this name.", "type": "string"}),
    ("A2A-L06", f"{TASK}/properties/extra", {"type": "object", "x-proto": {"number": 9}}),
    ("A2A-L07", f"{ITEM}/description", "A union with a tag."),
    ("A2A-L08", f"{TEXT}/description", "A member needs none, but may have one."),
    (
        "A2A-L09",
        f"{TASK}/properties/extra",
        {"type": "object", "additionalProperties": {"type": "string"}, "x-proto": {"number": 9}},
    ),
    ("A2A-L10", f"{PART}/properties/title", {"type": "string", "x-proto": {"number": 9}}),
    ("A2A-L11", f"{TASK}/properties/parent", {"$ref": "#/$defs/Task", "x-proto": {"number": 9}}),
    (
        "A2A-L12",
        f"{TASK}/properties/role",
        {"$ref": "message.json#/$defs/Role", "x-proto": {"number": 9}},
    ),
    ("A2A-L13", "v0/task.json#/$defs/Task/properties/extra", {"type": "string"}),
    ("A2A-L14", f"{TASK}/properties/extra", {"type": "string", "x-proto": {"number": 9}}),
    ("A2A-L15", f"{PART}/x-a2a-oneof", "other_name"),
    ("A2A-L16", f"{TASK}/x-a2a-read", {"id": "", "parts": []}),
    ("A2A-L17", f"{TASK}/required", ["id", "parts", "state"]),
    ("A2A-L18", f"{ROLE}/x-enum-varnames", ["CLIENT", "SERVER"]),
    ("A2A-L19", f"{TEXT}/x-a2a-aliases", ["txt"]),
    (
        "A2A-L20",
        f"{TASK}/properties/extra",
        {"type": "string", "format": "date-time", "x-proto": {"number": 9}},
    ),
    ("A2A-L21", f"{PART}/properties/default", {"type": "string", "x-proto": {"number": 9}}),
    ("A2A-L22", f"{KIND}/const", 7),
    ("A2A-L23", f"{TASK}/properties/state/description", "What may stand beside a reference."),
    ("A2A-L24", f"{TASK}/properties/extra", {"type": ["string", "null"], "x-proto": {"number": 9}}),
)


@pytest.mark.parametrize(
    ("rule", "target", "place", "value"),
    VIOLATIONS,
    ids=[f"{rule}-{target.partition('#')[2]}-{value}" for rule, target, _, value in VIOLATIONS],
)
def test_rule_applies(small: Small, rule: str, target: str, place: str, value: object) -> None:
    """A rule reports the place that it forbids, and no other rule reports that place."""
    found = [
        (problem.rule.split()[0], problem.place.file, problem.place.pointer)
        for problem in find_problems(small({target: value}))
    ]
    file, _, pointer = place.partition("#")
    assert (rule, file, pointer) in found
    assert Counter(found)[rule, file, pointer] == 1
    assert ("A2A-L01", file, pointer) not in found or rule == "A2A-L01"


@pytest.mark.parametrize(("rule", "target", "value"), ALLOWED, ids=[rule for rule, _, _ in ALLOWED])
def test_rule_is_silent(small: Small, rule: str, target: str, value: object) -> None:
    """A rule is silent about allowed schemas that resemble a violation."""
    assert rule not in {
        problem.rule.split()[0] for problem in find_problems(small({target: value}))
    }


def test_every_rule_has_cases() -> None:
    """Every rule has a case of each kind, a unique id, a reason and a cure."""
    ids = [rule.id for rule in RULES]
    assert sorted({rule for rule, *_ in VIOLATIONS}) == ids
    assert [rule for rule, *_ in ALLOWED] == ids
    assert ids == [f"A2A-L{number:02}" for number in range(1, len(RULES) + 1)]
    assert all(rule.why and rule.cure for rule in RULES)


def test_small_contract_is_clean(small: Small) -> None:
    """The small contract, the base of every case, has no problems."""
    assert find_problems(small({})) == ()


def test_our_contract_is_clean() -> None:
    """The contract of this repository has no problems."""
    documents = load_documents(SCHEMA)
    assert run_rules(build_contract(documents), documents) == ()


def test_levels(small: Small) -> None:
    """A slow pattern is a warning; lost data is an error."""
    found = find_problems(small({f"{TEXT}/pattern": "(?=x)", f"{PART}/title": "x"}))
    assert {problem.rule.split()[0]: problem.level for problem in found} == {
        "A2A-L04": Level.WARNING,
        "A2A-L10": Level.ERROR,
    }


def test_all_at_once_and_in_order(small: Small) -> None:
    """Problems of all files are returned together, sorted by file and line."""
    found = find_problems(
        small(
            {
                f"{TASK}/title": "x",
                f"{PART}/title": "x",
                f"{TEXT}/default": 1,
                "errors.json#/odd": 1,
            }
        )
    )
    assert [(problem.place.file, problem.rule.split()[0]) for problem in found] == [
        ("errors.json", "A2A-L01"),
        ("v1/message.json", "A2A-L21"),
        ("v1/message.json", "A2A-L10"),
        ("v1/task.json", "A2A-L10"),
    ]
    assert [problem.place for problem in found] == sorted(problem.place for problem in found)


def test_without_meta(small: Small, removed_member: object) -> None:
    """A contract without the family schema is checked by every other rule."""
    assert {
        problem.rule.split()[0]
        for problem in find_problems(
            small({META: removed_member, f"{TEXT}/patern": "x", f"{TEXT}/title": "x"})
        )
    } == {"A2A-L10"}


def test_form_is_silent_where_another_rule_applies(small: Small) -> None:
    """An invalid alternative is reported once, and not at all where another rule reports a problem
    below it.
    """
    odd = {"operations.json#/operations/0/response": 1}
    assert [problem.text for problem in find_problems(small(odd))] == [
        "the value matches none of the possible schemas"
    ]
    titled = {f"{TASK}/additionalProperties": {"title": "x"}, f"{TASK}/properties": {}}
    assert FORM.id not in {
        problem.rule.split()[0]
        for problem in find_problems(small(titled))
        if problem.place.pointer.endswith("additionalProperties")
    }

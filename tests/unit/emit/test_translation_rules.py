"""Each rule of a table of translations becomes straight code in both directions."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from unit.emit.tiny_dialect import (
    BYTES,
    FLAG,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    TIME,
    Schema,
    bodies,
    contract,
    record,
)


@dataclass(frozen=True)
class Case:
    """Two records, the rules between them, and the code of both functions."""

    theirs: Schema
    ours: Schema
    read: list[str]
    write: list[str]
    members: Schema = field(default_factory=dict)
    lossy: tuple[tuple[str, str], ...] = ()
    fresh: tuple[str, ...] = ()


CASES = {
    "equal names": Case(
        record({"a": TEXT}),
        record({"a": TEXT}),
        ["return {'a': theirs.a}"],
        [
            "out: dict[str, object] = {}",
            "if 'a' in ours:",
            "    out['a'] = ours['a']",
            "return out",
        ],
    ),
    "both require": Case(
        record({"a": TEXT}, required=["a"]),
        record({"a": TEXT}, required=["a"]),
        ["return {'a': theirs.a}"],
        ["return {'a': ours['a']}"],
    ),
    "only theirs requires": Case(
        record({"a": TEXT}, required=["a"]),
        record({"a": TEXT}),
        ["return {'a': theirs.a or None}"],
        ["return {'a': ours.get('a') or \"\"}"],
    ),
    "only ours requires": Case(
        record({"a": TEXT}),
        record({"a": TEXT}, required=["a"]),
        ["return {'a': theirs.a or \"\"}"],
        ["out: dict[str, object] = {}", "if ours['a']:", "    out['a'] = ours['a']", "return out"],
    ),
    "bytes and times have a form on the wire": Case(
        record({"b": BYTES, "t": TIME}, required=["b", "t"]),
        record({"b": BYTES, "t": TIME}, required=["b", "t"]),
        ["return {'b': theirs.b, 't': theirs.t}"],
        ["return {'b': ours['b'], 't': ours['t']}"],
    ),
    "a constant is written and not read": Case(
        record({"kind": {"const": "thing"}, "a": TEXT}, required=["kind", "a"]),
        record({"a": TEXT}, required=["a"]),
        ["return {'a': theirs.a}"],
        ["return {'kind': 'thing', 'a': ours['a']}"],
    ),
    "rename": Case(
        record({"b": TEXT}, required=["b"]),
        record({"a": TEXT}, required=["a"]),
        ["return {'a': theirs.b}"],
        ["return {'b': ours['a']}"],
        members={"b": "a"},
    ),
    "the first of several": Case(
        record({"b": TEXT}, required=["b"]),
        record({"a": TEXT, "c": TEXT}, required=["c"]),
        ["return {'a': theirs.b or None, 'c': theirs.b}"],
        ["return {'b': ours.get('a') or ours['c']}"],
        members={"b": ["a", "c"]},
        lossy=(("c", "write"),),
    ),
    "a path into a record of theirs": Case(
        record({"inner": {"$ref": "#/$defs/Inner"}}, required=["inner"]),
        record({"a": TEXT}, required=["a"]),
        ["inner = theirs.inner", "return {'a': inner.b}"],
        [
            "inner_out: dict[str, object] = {'b': ours['a']}",
            "out: dict[str, object] = {'inner': inner_out}",
            "return out",
        ],
        members={"inner.b": "a"},
    ),
    "not": Case(
        record({"wait": FLAG}),
        record({"hurry": FLAG}),
        ["return {'hurry': None if theirs.wait is None else not theirs.wait}"],
        [
            "out: dict[str, object] = {}",
            "if 'hurry' in ours:",
            "    out['wait'] = not ours['hurry']",
            "return out",
        ],
        members={"wait": {"rule": "not", "ours": "hurry"}},
    ),
    "not, where a missing one means something": Case(
        record({"wait": FLAG}),
        record({"hurry": FLAG}),
        ["return {'hurry': not theirs.wait}"],
        ["return {'wait': not ours.get('hurry')}"],
        members={"wait": {"rule": "not", "ours": "hurry", "absent": False}},
    ),
    "only": Case(
        record({"many": TEXTS}, required=["many"]),
        record({"one": TEXT}, required=["one"]),
        ["return {'one': theirs.many[0] if theirs.many else \"\"}"],
        ["return {'many': [ours['one']] if ours['one'] else []}"],
        members={"many": {"rule": "only", "ours": "one"}},
        lossy=(("many", "read"),),
    ),
    "resource": Case(
        record({"name": TEXT}, required=["name"]),
        record({"id": TEXT}, required=["id"]),
        [
            "(name_id,) = conversions.resource(theirs.name, ('things', None))",
            "return {'id': name_id}",
        ],
        ["return {'name': '/'.join(('things', ours['id']))}"],
        members={"name": {"rule": "resource", "template": "things/{id}"}},
    ),
    "milliseconds": Case(
        record({"ms": NUMBER}),
        record({"at": TIME}),
        ["return {'at': None if theirs.ms is None else conversions.moment(theirs.ms)}"],
        [
            "out: dict[str, object] = {}",
            "if 'at' in ours:",
            "    out['ms'] = conversions.milliseconds(ours['at'])",
            "return out",
        ],
        members={"ms": {"rule": "milliseconds", "ours": "at"}},
    ),
    "entry": Case(
        record({"why": TEXT}),
        record({"metadata": OBJECT}),
        ["return {'metadata': None if theirs.why is None else {'why': theirs.why}}"],
        [
            "why = conversions.entry(ours.get('metadata'), 'why')",
            "out: dict[str, object] = {}",
            "if why is not None:",
            "    out['why'] = why",
            "return out",
        ],
        members={"why": {"rule": "entry", "ours": "metadata", "key": "why"}},
        lossy=(("metadata", "write"),),
    ),
    "derive": Case(
        record({"b": TEXT, "c": TEXT}),
        record({"a": TEXTS}),
        ["return {'a': conversions.read_both(theirs.b, theirs.c, way='x') or None}"],
        [
            "out: dict[str, object] = {}",
            "out.update(conversions.write_both(ours.get('a'), way='x'))",
            "return out",
        ],
        members={
            "b": {"rule": "derive", "ours": "a", "with": ["c"], "by": "both", "given": {"way": "x"}}
        },
    ),
    "constant": Case(
        record({"b": FLAG}, required=["b"]),
        record({}),
        ["return {}"],
        ["return {'b': False}"],
        members={"b": {"rule": "constant", "value": False}},
        lossy=(("b", "read"),),
    ),
    "fresh": Case(
        record({}),
        record({"id": TEXT}, required=["id"]),
        ["return {'id': conversions.fresh_id()}"],
        ["return {}"],
        lossy=(("id", "write"),),
        fresh=("id",),
    ),
    "state": Case(
        record({"final": FLAG, "state": {"$ref": "#/$defs/State"}}, required=["final", "state"]),
        record({"state": {"$ref": "#/$defs/State"}}, required=["state"]),
        ["return {'state': read_state(theirs.state)}"],
        ["return {'final': ours['state'] in _FINAL_STATES, 'state': write_state(ours['state'])}"],
        members={"final": {"rule": "state", "of": "state", "kinds": ["terminal"]}},
        lossy=(("final", "read"),),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_rule_becomes_code(case: Case, tmp_path: Path) -> None:
    """A rule is printed as the expressions that it stands for, with nothing to decide at run
    time.
    """
    row: dict[str, object] = {"theirs": "Thing", "members": case.members, "fresh": list(case.fresh)}
    lossy = [
        {"type": "Thing", "member": member, "direction": direction, "reason": "r"}
        for member, direction in case.lossy
    ]
    types = {"Inner": record({"b": TEXT}, required=["b"]), "Thing": case.theirs}
    made = contract(tmp_path, types, {"Thing": case.ours}, {"types": [row], "lossy": lossy})
    printed = bodies(made)
    assert [plain(line) for line in printed["read_thing"]] == [plain(line) for line in case.read]
    assert [plain(line) for line in printed["write_thing"]] == [plain(line) for line in case.write]


def plain(line: str) -> str:
    """Take away what the formatter decides later: the kind of quotes, and space inside braces."""
    return line.replace("'", '"').replace("{ ", "{").replace(" }", "}")

"""A dialect that extends another has everything of that one, may add members, and may change
nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from a2a_gen.emit import bindings, models, translations
from a2a_gen.emit.protobuf import codec
from a2a_gen.ir.build import assemble, build_contract
from a2a_gen.ir.extension import find_changed_types, is_translated
from a2a_gen.source.documents import Document

Small = Callable[[Mapping[str, object]], Mapping[str, Document]]
Edit = Callable[[dict[str, Any]], object]

NUMBER = {"type": "integer", "description": "A number.", "x-proto": {"number": 90, "type": "int64"}}


@pytest.fixture
def extend(small: Small) -> Callable[..., Mapping[str, Document]]:
    """Extend the first dialect of the small contract by a copy of its types, with an edit of them
    and of the row.
    """

    def make(edit: Edit = lambda _: None, **row: object) -> Mapping[str, Document]:
        documents = small({})
        types: dict[str, Any] = {
            path: copy.deepcopy(each.data)
            for path, each in documents.items()
            if path.startswith("v1/")
        }
        edit(
            {
                name: definition
                for each in types.values()
                for name, definition in each["$defs"].items()
            }
        )
        rows = copy.deepcopy(documents["dialects.json"].data["dialects"])  # type: ignore[call-overload, index]  # JSON
        added = {
            "name": "v2",
            "title": "Two",
            "description": "The next one.",
            "version": "2.0",
            "extends": "v1",
            **row,
        }
        return small(
            {
                "dialects.json#/dialects": [*rows, added],
                **{path.replace("v1/", "v2/"): each for path, each in types.items()},
            }
        )

    return make


def add_number(types: dict[str, Any]) -> None:
    """Add a member to the task."""
    types["Task"]["properties"]["number"] = NUMBER


def test_an_extension_has_what_it_extends(extend: Callable[..., Mapping[str, Document]]) -> None:
    """Facts, calls, errors and words of states are those of the older dialect, and nothing is
    translated.
    """
    contract = build_contract(extend(add_number))
    older = contract.dialect("v1")
    newer = contract.dialect("v2")
    assert older is not None
    assert newer is not None
    assert {key: value for key, value in older.facts.items() if key != "profiles"} == newer.facts
    for operation in contract.operations:
        old = operation.call("v1")
        new = operation.call("v2")
        assert (old is None) == (new is None)
        assert (
            old is None
            or new is None
            or (old.method, old.http, old.grpc, old.request)
            == (new.method, new.http, new.grpc, new.request)
        )
    assert all(state.spellings["v1"] == state.spellings["v2"] for state in contract.states)
    assert all(
        row.columns["v1"] == row.columns["v2"] for row in contract.errors if not row.is_abstract
    )
    assert not is_translated(contract, "v2")
    assert "v2" not in {plan.dialect.name for plan in translations.build_plans(contract)}
    module = bindings.emit(contract)["bindings/v2.py"].decode()
    assert "translate=identity" in module
    assert "from ..translate" not in module


def test_an_extension_can_be_extended(
    small: Small, extend: Callable[..., Mapping[str, Document]]
) -> None:
    """A third version needs the files of its types and one row."""
    documents = extend(add_number)
    row = {
        "name": "v3",
        "title": "Three",
        "description": "The one after it.",
        "version": "3.0",
        "extends": "v2",
    }
    rows: list[Any] = documents["dialects.json"].data["dialects"]  # type: ignore[call-overload, index, assignment]  # JSON
    types = {path: each.data for path, each in documents.items() if path.startswith("v2/")}
    third = {path.replace("v2/", "v3/"): each for path, each in types.items()}
    contract = build_contract(small({"dialects.json#/dialects": [*rows, row], **types, **third}))
    dialect = contract.dialect("v3")
    assert dialect is not None
    assert find_changed_types(contract, dialect) == frozenset()
    assert not is_translated(contract, "v3")
    assert all(
        operation.call("v3") is not None
        for operation in contract.operations
        if operation.call("v1")
    )
    assert all(state.spellings["v3"] == state.spellings["v1"] for state in contract.states)
    assert all(
        row.columns["v3"] == row.columns["v1"] for row in contract.errors if not row.is_abstract
    )


def test_only_what_is_new_is_generated(extend: Callable[..., Mapping[str, Document]]) -> None:
    """A changed type is a subclass with the new member, and with members whose types have changed;
    all others are those of the older dialect.
    """
    documents = extend(add_number)
    contract = build_contract(documents)
    dialect = contract.dialect("v2")
    assert dialect is not None
    changed = find_changed_types(contract, dialect)
    assert "Task" in changed
    assert "Message" not in changed
    files = {
        path: body.decode()
        for path, body in models.emit(contract, documents).items()
        if path.startswith("v2/")
    }
    task = files["v2/task.py"]
    assert "class Task(v1.Task):" in task
    assert "number: " in task
    assert "parts: " not in task
    assert "v2/message.py" not in files
    assert "from ..v1 import" in files["v2/__init__.py"]


def test_an_extension_has_descriptors_of_its_own(
    extend: Callable[..., Mapping[str, Document]],
) -> None:
    """Messages of both have the same names, and only the newer ones have the new number."""
    files = codec.emit(build_contract(extend(add_number)))
    if files:  # the small contract may have no protocol buffers
        assert files["protobuf/v2/descriptors.pb"] != files["protobuf/descriptors.pb"]


@pytest.mark.parametrize(
    ("edit", "row", "rule"),
    [
        pytest.param(lambda _: None, {"extends": "v7"}, "A2A-C53", id="of nothing"),
        pytest.param(lambda _: None, {"extends": "v2"}, "A2A-C53", id="of itself"),
        pytest.param(lambda _: None, {"version": None}, "A2A-C54", id="without a version"),
        pytest.param(lambda _: None, {"form_of": "v1"}, "A2A-C54", id="a form too"),
        pytest.param(
            lambda types: types["Task"]["properties"].pop("parts"),
            {},
            "A2A-C56",
            id="without a member",
        ),
        pytest.param(
            lambda types: types["Task"]["properties"]["id"].update(type="integer"),
            {},
            "A2A-C56",
            id="another type",
        ),
        pytest.param(
            lambda types: types["Task"].update(required=[]), {}, "A2A-C56", id="no longer required"
        ),
        pytest.param(
            lambda types: types["Role"]["enum"].append("ROLE_ODD"), {}, "A2A-C56", id="another word"
        ),
        pytest.param(
            lambda types: (
                types["Task"]["properties"].update(number=NUMBER),
                types["Task"]["required"].append("number"),
            ),
            {},
            "A2A-C56",
            id="a new member that is required",
        ),
    ],
)
def test_an_extension_changes_nothing(
    extend: Callable[..., Mapping[str, Document]], edit: Edit, row: dict[str, object], rule: str
) -> None:
    """Everything of the older dialect must be there as it is; the problem names the place and the
    cure.
    """
    problems = [problem for problem in assemble(extend(edit, **row))[1] if problem.rule == rule]
    assert problems
    assert all(problem.cure for problem in problems)


def test_a_type_may_not_be_left_out(
    small: Small, extend: Callable[..., Mapping[str, Document]]
) -> None:
    """Readers of the older dialect expect it."""
    documents = {path: each for path, each in extend().items() if path != "v2/message.json"}
    assert small is not None
    assert {"A2A-C55"} <= {problem.rule for problem in assemble(documents)[1]}

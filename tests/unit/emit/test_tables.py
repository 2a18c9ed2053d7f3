"""The tables in Python say what the tables in JSON say: no more, and no less."""

from __future__ import annotations

import ast
import inspect
import json
from dataclasses import replace
from inspect import cleandoc
from pathlib import Path
from typing import Any

import pytest

from a2a_contract import dialects, errors, lifecycle, operations, v1_0
from a2a_contract.methods import METHODS
from a2a_gen.emit import tables
from a2a_gen.ir.model import Contract, ErrorDefinition

SCHEMA = Path(__file__).parents[3] / "schema"


def rows(table: str, key: str) -> dict[str, Any]:
    """Read the rows of a table, by name."""
    return {row["name"]: row for row in json.loads((SCHEMA / f"{table}.json").read_bytes())[key]}


def extend_rows(rows: dict[str, Any], key: str) -> dict[str, Any]:
    """Give the dialects that extend another what the rows say of that one."""
    for row in rows.values():
        given = row[key]
        row[key] = {
            name: given[home]
            for name in DIALECTS
            if (home := name if name in given else DIALECTS[name].get("extends")) in given
        }
    return rows


DIALECTS = rows("dialects", "dialects")
DIALECTS |= {
    name: {
        **{key: value for key, value in DIALECTS[row["extends"]].items() if key != "profiles"},
        **row,
    }
    for name, row in DIALECTS.items()
    if "extends" in row
}
ERRORS = rows("errors", "errors")
STATES = extend_rows(rows("lifecycle", "states"), "spellings")
OPERATIONS = extend_rows(rows("operations", "operations"), "dialects")


def below(error: type[errors.A2AError]) -> set[type[errors.A2AError]]:
    """Find every class of the contract below one: those of the runtime and of tests are theirs."""
    children = [child for child in error.__subclasses__() if child.__module__ == errors.__name__]
    return {each for child in children for each in (child, *below(child))}


def test_there_is_a_class_for_every_error_and_an_error_for_every_class() -> None:
    """Neither side knows an error that the other does not; groups have no row, and everything else
    has one.
    """
    assert {each.__name__ for each in below(errors.A2AError)} == set(ERRORS)
    assert {each.__name__ for each in errors.ERRORS} == {
        name for name, row in ERRORS.items() if not row.get("abstract")
    }


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_equals_its_row(name: str) -> None:
    """Parent, description and public text are those of the table."""
    row = ERRORS[name]
    error = getattr(errors, name)
    assert error.__bases__ == (getattr(errors, row["parent"]),)
    assert inspect.cleandoc(error.__doc__ or "").split() == row["description"].split()
    assert str(error()) == error().message == row.get("message", "")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", [name for name, row in ERRORS.items() if not row.get("abstract")])
def test_an_error_has_a_row_in_every_dialect(name: str, dialect: str) -> None:
    """The row of a dialect overrides the common row; a form or an extension of a dialect has the
    row of its dialect.
    """
    home = DIALECTS[dialect].get("form_of") or DIALECTS[dialect].get("extends", dialect)
    row = {**ERRORS[name], **ERRORS[name].get("dialects", {}).get(home, {})}
    error = getattr(errors, name)
    entry = errors.ERRORS[error].in_dialect(dialect)
    assert (entry.code, entry.http, entry.grpc, entry.reason) == (
        row["code"],
        row["http"],
        row["grpc"],
        row.get("reason"),
    )
    assert entry.jsonrpc_status == row.get("jsonrpc_status", 200)
    details = dict.fromkeys(("task_id", "method", "member", "header"), "x")
    assert entry.text(error(details=details)) == row["message"].format_map(details)


def test_a_text_with_a_gap_needs_its_detail() -> None:
    """A dialect's own text is used when the error has what it names, else the error's."""
    row = errors.ERRORS[errors.TaskNotFoundError].in_dialect("mesh")
    assert row.text(errors.TaskNotFoundError(details={"task_id": "{x}"})) == "Unknown task id: {x}"
    assert row.text(errors.TaskNotFoundError()) == "Task not found"
    assert (
        errors.ERRORS[errors.TaskNotFoundError].text(errors.TaskNotFoundError("No such luck"))
        == "No such luck"
    )


def test_an_error_carries_details() -> None:
    """Errors do not share their details and field errors."""
    error = errors.InvalidParamsError(
        "No", details={"a": "b"}, fields=(("message.parts", "empty"),)
    )
    assert (error.message, error.details, error.fields) == (
        "No",
        {"a": "b"},
        (("message.parts", "empty"),),
    )
    assert errors.InvalidParamsError().fields == ()


def test_there_is_a_stage_for_every_state() -> None:
    """States, kinds and transitions are those of the table."""
    assert (
        [state.name for state in lifecycle.State]
        == [state.name for state in lifecycle.LIFECYCLE]
        == list(STATES)
    )
    for state, stage in lifecycle.LIFECYCLE.items():
        row = STATES[state.name]
        assert (stage.kind, stage.accepts_messages, stage.cancelable) == (
            row["kind"],
            row["accepts_messages"],
            row["cancelable"],
        )
        assert {each.name for each in stage.next} == set(row["next"])
        assert stage.words == row["spellings"]


def test_every_state_is_of_one_kind() -> None:
    """The sets of states by kind divide all states, and nothing follows an end."""
    assert sorted((*lifecycle.ACTIVE, *lifecycle.INTERRUPTED, *lifecycle.TERMINAL)) == sorted(
        lifecycle.State
    )
    assert all(not lifecycle.LIFECYCLE[state].next for state in lifecycle.TERMINAL)
    assert lifecycle.INITIAL in lifecycle.ACTIVE


@pytest.mark.parametrize("state", lifecycle.State)
def test_a_state_leads_to_the_model_and_back(state: lifecycle.State) -> None:
    """The table and the canonical model call a state the same."""
    assert lifecycle.State(v1_0.TaskState(state)) is state
    assert v1_0.TaskState(state).is_known


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_word_is_read_as_its_state(dialect: str) -> None:
    """Every word that stands for one state alone is read as that state, and so is every other word
    that the table lists.
    """
    words = [stage.words[dialect] for stage in lifecycle.LIFECYCLE.values()]
    for state, stage in lifecycle.LIFECYCLE.items():
        listed = STATES[state.name].get("reads", {}).get(dialect, [])
        own = [stage.words[dialect]] if words.count(stage.words[dialect]) == 1 else []
        assert all(lifecycle.READS[dialect][word] is state for word in (*listed, *own))
    assert set(words) <= set(lifecycle.READS[dialect])


def test_there_is_an_operation_for_every_row() -> None:
    """Operations and their shapes are those of the table."""
    assert list(operations.OPERATIONS) == list(OPERATIONS)
    for name, operation in operations.OPERATIONS.items():
        row = OPERATIONS[name]
        assert (operation.streams, operation.capability) == (
            row.get("streams", False),
            row.get("capability"),
        )
        assert list(operation.calls) == list(row["dialects"])
        for dialect, call in operation.calls.items():
            said = row["dialects"][dialect]
            assert (call.method, call.aliases, call.grpc) == (
                said.get("method"),
                tuple(said.get("aliases", ())),
                said.get("grpc"),
            )
            assert len(call.http) == len(said.get("http", ())) * max(
                1, len(DIALECTS[dialect]["http_prefixes"])
            )


def test_a_path_can_be_filled_in_by_a_client() -> None:
    """The braces of a path hold members of the dialect's request, also where a member is several
    segments.
    """
    paths = [call.path for call in operations.CANCEL_TASK.calls["v0_3_proto"].http]
    assert paths == ["/v1/{name}:cancel"]
    assert paths[0].format(name="tasks/t-1") == "/v1/tasks/t-1:cancel"


def test_there_is_a_binding_for_every_method() -> None:
    """The methods of a dialect are those of the table, aliases included."""
    for dialect, methods in METHODS.items():
        calls = {
            name: row["dialects"][dialect]
            for name, row in OPERATIONS.items()
            if dialect in row["dialects"]
        }
        wanted = {
            method: name
            for name, call in calls.items()
            for method in (call["method"], *call.get("aliases", ()))
        }
        assert {method: binding.operation.name for method, binding in methods.items()} == wanted
        assert {binding.dialect for binding in methods.values()} == {dialect}
    assert list(METHODS) == [name for name, row in DIALECTS.items() if row["jsonrpc"]]


def test_there_is_a_row_for_every_dialect() -> None:
    """Dialects are those of the table."""
    assert list(dialects.DIALECTS) == list(DIALECTS)
    for name, dialect in dialects.DIALECTS.items():
        row = DIALECTS[name]
        assert (dialect.title, dialect.version, dialect.form_of) == (
            row["title"],
            row["version"],
            row.get("form_of"),
        )
        assert (dialect.extends, dialect.is_draft) == (row.get("extends"), row.get("draft", False))
        assert (dialect.jsonrpc, dialect.error_body) == (row["jsonrpc"], row["error_body"])
        for key in ("http_prefixes", "media_types", "card_paths"):
            assert list(getattr(dialect, key)) == row[key]
    assert dialects.CANONICAL.name == "v1_0"
    assert sorted(dialects.RESERVED_TENANTS) == [".well-known", "v1"]
    assert dialects.VERSION.headers == ("A2A-Version", "OPVS-Version")


HOSTILE = 'evil """ + open("x") + """ {{ x }} \\ \n# noqa \u2028 \'"'


def test_hostile_text_stays_text(contract: Contract) -> None:
    """Descriptions, messages and titles that look like code are strings and docstrings in every
    table.
    """
    evil = replace(
        contract,
        operations=tuple(replace(each, description=HOSTILE) for each in contract.operations),
        errors=tuple(map(hostile_error, contract.errors)),
        dialects=tuple(
            replace(each, title=HOSTILE, description=HOSTILE) for each in contract.dialects
        ),
        parameters=tuple(replace(each, description=HOSTILE) for each in contract.parameters),
        lifecycle=replace(
            contract.lifecycle,
            states=tuple(replace(each, description=HOSTILE) for each in contract.states),
        ),
    )
    plain = tables.emit(contract)
    hostile = tables.emit(evil)
    for name, code in hostile.items():
        assert shape(code) == shape(plain[name])
    documented = next(
        node
        for node in ast.walk(ast.parse(hostile["errors.py"]))
        if isinstance(node, ast.ClassDef) and node.name == "ParseError"
    )
    assert (
        cleandoc(ast.get_docstring(documented) or "").split()
        == HOSTILE.replace("\u2028", "\\u2028").split()
    )


def hostile_error(row: ErrorDefinition) -> ErrorDefinition:
    """Make every text of an error hostile, and those of dialects still different."""
    columns = {
        name: {**said, "message": HOSTILE if said["message"] == row.message else f"{HOSTILE}!"}
        for name, said in row.columns.items()
    }
    return replace(row, description=HOSTILE, message=row.message and HOSTILE, columns=columns)


def shape(code: bytes) -> str:
    """Describe code without its strings."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)

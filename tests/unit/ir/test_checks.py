"""Consistency checks of a contract; every case changes one thing in the small contract."""

from collections.abc import Callable, Mapping

import pytest

from a2a_gen.ir.build import assemble
from a2a_gen.source.documents import Document

Small = Callable[[Mapping[str, object]], Mapping[str, Document]]

TASK = "v1/task.json#/$defs/Task/properties"
OPERATION = "operations.json#/operations/0"
CALL = f"{OPERATION}/dialects/v1"
OTHER_CALL = "operations.json#/operations/1/dialects/v1"
ERRORS = "errors.json#/errors"
STATES = "lifecycle.json#/states"
DIALECT = "dialects.json#/dialects/1"
CONSEQUENCES = {"A2A-C31", "A2A-C32", "A2A-C37", "A2A-C45", "A2A-C47"}
TYPE = {"description": "A type.", "type": "object", "properties": {}}
FAMILY = {"description": "More.", "$defs": {"More": TYPE}}
EXTENSION = {
    **FAMILY,
    "x-a2a-extension": {"name": "more", "version": 1, "params": "More", "description": "More."},
}
SECOND = {
    **EXTENSION,
    "$defs": {"Most": TYPE},
    "x-a2a-extension": {"name": "more", "version": 2, "params": "Most", "description": "More."},
}


@pytest.mark.parametrize(
    ("edits", "rule", "pointer"),
    [
        pytest.param({"errors.json#/errors": []}, None, "", id="an empty table is for its form"),
        pytest.param({"v1/Task.json": FAMILY}, "A2A-C02", "", id="modules"),
        pytest.param(
            {"v1/message.json#/$defs/TASK": TYPE},
            "A2A-C03",
            "/$defs/Task",
            id="types up to capitals",
        ),
        pytest.param(
            {"v1/message.json#/$defs/None": TYPE}, "A2A-C04", "/$defs/None", id="no class name"
        ),
        pytest.param(
            {f"{TASK}/task-id": {}, f"{TASK}/taskId": {}},
            "A2A-C05",
            "/$defs/Task/properties/taskId",
            id="members",
        ),
        pytest.param(
            {"v1/message.json#/$defs/Role/x-enum-varnames": ["USER", "USER"]},
            "A2A-C06",
            "/$defs/Role",
            id="values",
        ),
        pytest.param({"v2/more.json": FAMILY}, "A2A-C07", "", id="folder without dialect"),
        pytest.param(
            {"extensions/more.json": FAMILY},
            "A2A-C50",
            "/x-a2a-extension",
            id="extension without a name",
        ),
        pytest.param(
            {"extensions/more.json": EXTENSION | {"$defs": {"Other": TYPE}}},
            "A2A-C51",
            "/x-a2a-extension",
            id="type of an extension",
        ),
        pytest.param(
            {"extensions/a.json": EXTENSION, "extensions/b.json": SECOND},
            "A2A-C52",
            "/x-a2a-extension",
            id="extension twice",
        ),
        pytest.param({"extensions/more.json": EXTENSION}, None, "", id="extension"),
        pytest.param({"v1/deep/more.json": FAMILY}, "A2A-C07", "", id="folder in a folder"),
        pytest.param(
            {f"{OPERATION}/dialects/v7": {"method": "x", "request": None, "result": None}},
            "A2A-C10",
            f"{OPERATION}/dialects/v7",
            id="dialect",
        ),
        pytest.param(
            {f"{OPERATION}/response": "Nothing"}, "A2A-C11", OPERATION, id="canonical type"
        ),
        pytest.param({f"{CALL}/result": "Nothing"}, "A2A-C11", CALL, id="type of a dialect"),
        pytest.param(
            {"operations.json#/operations/1/name": "GetTask"},
            "A2A-C12",
            "/operations/1",
            id="operation twice",
        ),
        pytest.param({f"{OTHER_CALL}/method": "GetTask"}, "A2A-C13", OTHER_CALL, id="method twice"),
        pytest.param(
            {f"{OTHER_CALL}/aliases": ["GetTask"]}, "A2A-C13", OTHER_CALL, id="alias is a method"
        ),
        pytest.param(
            {f"{OTHER_CALL}/grpc": "GetTask"}, "A2A-C14", OTHER_CALL, id="procedure twice"
        ),
        pytest.param(
            {f"{OTHER_CALL}/http": ["GET /tasks/{tenant}"]}, "A2A-C15", OTHER_CALL, id="route twice"
        ),
        pytest.param(
            {f"{OTHER_CALL}/http": ["GET /v0/tasks/{id}"], f"{DIALECT}/form_of": "v1"},
            "A2A-C15",
            OTHER_CALL,
            id="route of another form of the dialect",
        ),
        pytest.param(
            {f"{CALL}/http": ["GET /tasks/{nothing}"]}, "A2A-C16", CALL, id="member of a path"
        ),
        pytest.param(
            {f"{OTHER_CALL}/request": None}, "A2A-C16", OTHER_CALL, id="path without a request"
        ),
        pytest.param({f"{OPERATION}/capability": "flying"}, "A2A-C17", OPERATION, id="capability"),
        pytest.param(
            {f"{ERRORS}/2/name": "MissingError"}, "A2A-C20", f"{ERRORS}/2", id="error twice"
        ),
        pytest.param(
            {f"{ERRORS}/1/parent": "BrokenError"}, "A2A-C21", f"{ERRORS}/1", id="parent below"
        ),
        pytest.param(
            {f"{ERRORS}/1/dialects/v7": {"code": 1}},
            "A2A-C22",
            f"{ERRORS}/1",
            id="dialect of an error",
        ),
        pytest.param(
            {f"{ERRORS}/2/dialects": {"v1": {"code": -32001}}},
            "A2A-C23",
            f"{ERRORS}/2",
            id="code twice",
        ),
        pytest.param(
            {f"{ERRORS}/2/reason": "MISSING"}, "A2A-C23", f"{ERRORS}/2", id="reason twice"
        ),
        pytest.param({f"{STATES}/1/name": "NEW"}, "A2A-C30", f"{STATES}/1", id="state twice"),
        pytest.param(
            {f"{STATES}/0/next": ["DONE", "GONE"]}, "A2A-C31", f"{STATES}/0", id="next state"
        ),
        pytest.param({"lifecycle.json#/initial": "GONE"}, "A2A-C31", "", id="first state"),
        pytest.param({f"{STATES}/0/next": []}, "A2A-C32", f"{STATES}/1", id="unreachable state"),
        pytest.param(
            {f"{STATES}/0/spellings/v7": "x"}, "A2A-C33", f"{STATES}/0", id="dialect of a spelling"
        ),
        pytest.param(
            {"lifecycle.json#/type": "Task"}, "A2A-C34", f"{STATES}/0", id="type of the states"
        ),
        pytest.param(
            {f"{STATES}/0/spellings/v0": "fresh"}, "A2A-C35", f"{STATES}/0", id="spelling"
        ),
        pytest.param(
            {"lifecycle.json#/unknown/spellings/v1": "x"},
            "A2A-C35",
            "",
            id="spelling of the unknown state",
        ),
        pytest.param(
            {"v0/task.json#/$defs/TaskState/enum": ["new", "done", "odd"], f"{DIALECT}/enums": {}},
            "A2A-C37",
            "",
            id="word that no state reads",
        ),
        pytest.param(
            {f"{STATES}/1/reads": {"v0": ["fresh"]}}, "A2A-C37", "", id="word that two states read"
        ),
        pytest.param({f"{DIALECT}/form_of": "v7"}, "A2A-C41", DIALECT, id="form of nothing"),
        pytest.param(
            {f"{DIALECT}/wrappers": {"Task": "nothing"}}, "A2A-C42", DIALECT, id="wrapper"
        ),
        pytest.param(
            {f"{DIALECT}/enums/Task": {"x": "y"}}, "A2A-C43", DIALECT, id="words of no enumeration"
        ),
        pytest.param(
            {f"{DIALECT}/enums/TaskState/new": "NEW"}, "A2A-C44", DIALECT, id="canonical word"
        ),
        pytest.param(
            {f"{DIALECT}/enums/TaskState/odd": "TASK_STATE_NEW"},
            "A2A-C44",
            DIALECT,
            id="word of theirs",
        ),
        pytest.param(
            {f"{DIALECT}/enums/TaskState": {"new": "TASK_STATE_NEW"}},
            "A2A-C44",
            DIALECT,
            id="word without a canonical one",
        ),
        pytest.param(
            {f"{DIALECT}/types/1/ours": "Part", f"{DIALECT}/types/1/theirs": "Item"},
            "A2A-C45",
            f"{DIALECT}/types/2",
            id="pair twice",
        ),
        pytest.param(
            {f"{DIALECT}/types/0/ours": "Nothing"},
            "A2A-C46",
            f"{DIALECT}/types/0",
            id="type of ours",
        ),
        pytest.param(
            {f"{DIALECT}/types/1/members": {"task.nothing": "id"}},
            "A2A-C47",
            f"{DIALECT}/types/1",
            id="member of theirs",
        ),
        pytest.param(
            {f"{DIALECT}/types/1/members": {"task.name.x": "id"}},
            "A2A-C47",
            f"{DIALECT}/types/1",
            id="member of a string",
        ),
        pytest.param(
            {f"{DIALECT}/types/1/members": {"task.name": "nothing"}},
            "A2A-C47",
            f"{DIALECT}/types/1",
            id="member of ours",
        ),
        pytest.param(
            {f"{DIALECT}/types/0/members/name/template": "tasks/{x}"},
            "A2A-C47",
            f"{DIALECT}/types/0",
            id="member in a template",
        ),
        pytest.param(
            {f"{DIALECT}/types/2/union": {"Nothing": "text"}},
            "A2A-C47",
            f"{DIALECT}/types/2",
            id="branch",
        ),
        pytest.param(
            {f"{DIALECT}/lossy/0/type": "Nothing"}, "A2A-C49", f"{DIALECT}/lossy/0", id="loss"
        ),
    ],
)
def test_problem(small: Small, edits: Mapping[str, object], rule: str | None, pointer: str) -> None:
    """One thing that does not fit is one kind of problem, at its place and with a cure."""
    problems = assemble(small(edits))[1]
    found = {(problem.rule, problem.place.pointer) for problem in problems}
    expected = {(rule, pointer.partition("#")[2] or pointer)} if rule else set()
    assert expected <= found
    assert {found_rule for found_rule, _ in found} <= {rule} | CONSEQUENCES
    assert all(problem.cure for problem in problems)


def test_missing_table(small: Small, removed_member: object) -> None:
    """A table that is not there is a problem of its own."""
    found = {
        (problem.rule, problem.place.file)
        for problem in assemble(small({"operations.json": removed_member}))[1]
    }
    assert found == {("A2A-C01", "operations.json")}


def test_dialect_without_types(small: Small, removed_member: object) -> None:
    """A dialect without a folder is a problem, beside everything that is missing with it."""
    assert "A2A-C08" in {
        problem.rule for problem in assemble(small({"v0/task.json": removed_member}))[1]
    }


def test_state_without_spelling(small: Small, removed_member: object) -> None:
    """Every dialect has a word for every state."""
    rules = {
        problem.rule for problem in assemble(small({f"{STATES}/1/spellings/v0": removed_member}))[1]
    }
    assert rules == {"A2A-C36", "A2A-C37"}


@pytest.mark.parametrize(
    ("target", "rule"), [("dialects.json#/dialects", "A2A-C40"), (f"{DIALECT}/lossy", "A2A-C48")]
)
def test_row_twice(small: Small, target: str, rule: str) -> None:
    """A dialect and a loss are listed once."""
    file, _, pointer = target.partition("#")
    rows = small({})[file].data
    for step in pointer.split("/")[1:]:
        rows = rows[int(step)] if isinstance(rows, list) else rows[step]
    assert rule in {problem.rule for problem in assemble(small({target: [*rows, rows[0]]}))[1]}

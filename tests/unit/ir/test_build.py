"""A contract is built from documents."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from a2a_gen.ir.build import assemble, build_contract
from a2a_gen.ir.model import TranslationRule
from a2a_gen.ir.types import (
    Alias,
    Choice,
    Constant,
    Enumeration,
    EnumValue,
    FieldName,
    ListOf,
    MapOf,
    OneOf,
    Primitive,
    Record,
    Ref,
    TypeExpr,
)
from a2a_gen.problems import ContractError
from a2a_gen.source.documents import Document, load_documents

Small = Callable[[Mapping[str, object]], Mapping[str, Document]]
SCHEMA = Path(__file__).parents[3] / "schema"


def record_of(documents: Mapping[str, Document], dialect: str, name: str) -> Record:
    """Build, and find a record."""
    found = build_contract(documents).type(dialect, name)
    assert isinstance(found, Record)
    return found


def test_small_contract_is_right(small: Small) -> None:
    """The small contract, from which every case differs in one thing, has no problem."""
    assert assemble(small({}))[1] == ()


def test_our_contract_is_right() -> None:
    """The contract of this repository fits together."""
    assert assemble(load_documents(SCHEMA))[1] == ()


@pytest.mark.parametrize(
    ("schema", "of"),
    [
        pytest.param({"type": "string"}, Primitive.STRING, id="string"),
        pytest.param({"type": "integer"}, Primitive.INTEGER, id="integer"),
        pytest.param(
            {"type": "string", "format": "date-time"}, Primitive.TIMESTAMP, id="timestamp"
        ),
        pytest.param({"type": "string", "contentEncoding": "base64"}, Primitive.BYTES, id="bytes"),
        pytest.param({"type": "object"}, Primitive.OBJECT, id="object"),
        pytest.param({"description": "Anything."}, Primitive.ANY, id="any"),
        pytest.param({"type": "array"}, ListOf(Primitive.ANY), id="list of anything"),
        pytest.param(
            {"type": "array", "items": {"$ref": "message.json#/$defs/Part"}},
            ListOf(Ref("Part")),
            id="list",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "integer"}},
            MapOf(Primitive.INTEGER),
            id="map",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": True}, Primitive.OBJECT, id="open object"
        ),
        pytest.param({"type": "string", "const": "x"}, Constant("x"), id="constant"),
        pytest.param(
            {"type": ["string", "null"]},
            OneOf((Primitive.STRING, Primitive.NULL)),
            id="several types",
        ),
        pytest.param(
            {"oneOf": [{"$ref": "#/$defs/Task"}, {"$ref": "#/$defs/TaskState"}]},
            OneOf((Ref("Task"), Ref("TaskState"))),
            id="union",
        ),
    ],
)
def test_type(small: Small, schema: dict[str, object], of: TypeExpr) -> None:
    """Every way of writing a type is understood."""
    record = record_of(small({"v1/task.json#/$defs/Task/properties/extra": schema}), "v1", "Task")
    field = record.field("extra")
    assert field is not None
    assert field.type == of


def test_a_name_for_a_scalar_is_that_scalar(small: Small) -> None:
    """Alone and in lists and maps; what the name demands stays in the schema."""
    uses: dict[str, object] = {
        "v1/message.json#/$defs/Name": {
            "description": "A name.",
            "type": "string",
            "pattern": "^[a-z]*$",
        },
        "v1/message.json#/$defs/Part/properties/name": {"$ref": "#/$defs/Name"},
        "v1/message.json#/$defs/Part/properties/names": {
            "type": "array",
            "items": {"$ref": "#/$defs/Name"},
        },
        "v1/message.json#/$defs/Part/properties/by_name": {
            "type": "object",
            "additionalProperties": {"$ref": "#/$defs/Name"},
        },
    }
    types = {field.wire: field.type for field in record_of(small(uses), "v1", "Part").fields}
    assert (types["name"], types["names"], types["by_name"]) == (
        Primitive.STRING,
        ListOf(Primitive.STRING),
        MapOf(Primitive.STRING),
    )


def test_field(small: Small) -> None:
    """A field says what its schema says about it, and where that is."""
    parts = record_of(small({}), "v1", "Task").field("parts")
    media = record_of(small({}), "v1", "Part").field("mediaType")
    assert parts is not None
    assert media is not None
    assert (parts.required, parts.has_read_default, parts.read_default, parts.proto) == (
        True,
        True,
        (),
        {"number": 4},
    )
    assert (media.python, media.required, media.aliases) == ("media_type", False, ("mimeType",))
    assert (parts.place.file, parts.place.pointer) == (
        "v1/task.json",
        "/$defs/Task/properties/parts",
    )
    assert small({})["v1/task.json"].text.split("\n")[parts.place.line - 1].strip() == '"parts": {'


def test_presence(small: Small) -> None:
    """Members of which exactly one is there become a choice, not a union."""
    assert record_of(small({}), "v1", "Part").choice == Choice("content", ("text", "raw", "data"))


def test_enumeration(small: Small) -> None:
    """An enumeration has names, numbers, and is open when it says so."""
    contract = build_contract(small({}))
    role = contract.type("v1", "Role")
    state = contract.type("v1", "TaskState")
    assert isinstance(role, Enumeration)
    assert isinstance(state, Enumeration)
    assert role.values == (
        EnumValue("ROLE_USER", FieldName("USER"), 1),
        EnumValue("ROLE_AGENT", FieldName("AGENT"), 2),
    )
    assert (role.is_open, state.is_open) == (False, True)


def test_tag(small: Small) -> None:
    """The constant that tells the branches of a union apart is found, and one that all share is not
    taken for it.
    """
    same = {
        f"v0/task.json#/$defs/{name}/properties": {
            "jsonrpc": {"const": "2.0"},
            "kind": {"const": name},
            "name": {},
            "task": {},
        }
        for name in ("Task", "Event")
    }
    required = {
        f"v0/task.json#/$defs/{name}/required": ["jsonrpc", "kind"] for name in ("Task", "Event")
    }
    for edits in ({}, {**same, **required}):
        item = assemble(small(edits))[0].type("v0", "Item")
        assert isinstance(item, Alias)
        assert item.tag == "kind"


def test_no_tag(small: Small) -> None:
    """A constant that is not required tells nothing apart."""
    item = assemble(small({"v0/task.json#/$defs/Event/required": ["task"]}))[0].type("v0", "Item")
    assert isinstance(item, Alias)
    assert item.tag is None


def test_calls(small: Small) -> None:
    """A call has its routes below every prefix, and over HTTP the same types unless the table says
    otherwise.
    """
    edits = {"operations.json#/operations/0/dialects/v0/http_result": "Task"}
    operation = build_contract(small(edits)).operations[0]
    newer = operation.call("v1")
    older = operation.call("v0")
    assert newer is not None
    assert older is not None
    assert [path.path for path in newer.http] == ["/tasks/{id}", "/{tenant}/tasks/{id}"]
    assert [path.path for path in older.http] == ["/v0/{name=tasks/*}"]
    assert (newer.http_request, newer.http_result) == ("Task", "Task")
    assert (older.result, older.http_result, older.aliases) == ("Item", "Task", ("task/get",))


def test_error_columns(small: Small) -> None:
    """The row of a dialect overrides the common row."""
    contract = build_contract(small({}))
    group, missing, _ = contract.errors
    assert (contract.error_root, group.is_abstract, group.columns) == ("A2AError", True, {})
    assert missing.columns["v1"] == {
        "message": "Not there",
        "code": -32001,
        "http": 404,
        "grpc": "NOT_FOUND",
        "reason": "MISSING",
        "jsonrpc_status": None,
    }
    assert missing.columns["v0"] == {**missing.columns["v1"], "code": -32600}


def test_reading_states(small: Small) -> None:
    """A state is read from its own word and those listed, but not from a word that belongs to
    another state.
    """
    begun, ended = build_contract(small({})).states
    assert (begun.reads, ended.reads) == (
        {"v1": ("TASK_STATE_NEW",), "v0": ("new", "fresh")},
        {"v1": ("TASK_STATE_DONE",), "v0": ("done",)},
    )
    shared = {
        "lifecycle.json#/states/1/spellings/v0": "new",
        "lifecycle.json#/states/1/reads": {"v0": ["new", "done"]},
    }
    begun, ended = assemble(small(shared))[0].states
    assert (begun.reads["v0"], ended.reads["v0"]) == (("fresh",), ("new", "done"))


def test_rules(small: Small) -> None:
    """Translations are as the table gives them."""
    contract = build_contract(small({}))
    rules = [
        rule for translation in contract.dialects[1].translations for rule in translation.rules
    ]
    assert rules == [
        TranslationRule("resource", ("name",), ("id",), {"template": "tasks/{id}"}),
        TranslationRule("rename", ("task.name",), ("id",)),
        TranslationRule("rename", ("metadata.why",), ("state",)),
        TranslationRule("branch", ("Task",), ("text",)),
        TranslationRule("flat", ("Event",), ("raw", "data")),
    ]


def test_derive(small: Small) -> None:
    """A derived member names what it is read into, what belongs to it, and what it is computed
    from.
    """
    derive = {
        "kind": {"rule": "derive", "from": ["state"], "by": "kind"},
        "name": {"rule": "derive", "ours": "id", "with": ["state"], "by": "name"},
    }
    translation = (
        assemble(small({"dialects.json#/dialects/1/types/0/members": derive}))[0]
        .dialects[1]
        .translations[0]
    )
    assert translation.rules == (
        TranslationRule("derive", ("kind",), (), {"from": ("state",), "by": "kind"}),
        TranslationRule("derive", ("name", "state"), ("id",), {"by": "name"}),
    )


@pytest.mark.parametrize(
    "table", ["dialects.json", "errors.json", "lifecycle.json", "operations.json", "v1/task.json"]
)
@pytest.mark.parametrize(
    "content",
    [
        pytest.param([], id="array"),
        pytest.param(1, id="number"),
        pytest.param({}, id="empty"),
        pytest.param(
            {
                "dialects": 1,
                "errors": [1],
                "states": [{}],
                "operations": [{"dialects": []}],
                "$defs": {"T": 1},
            },
            id="odd",
        ),
    ],
)
def test_malformed_files_never_crash(small: Small, table: str, content: object) -> None:
    """A file of any other form gives a contract with less in it, not an exception."""
    contract, _ = assemble(small({table: content}))
    assert contract.operations or table == "operations.json"


def test_raises_everything(small: Small) -> None:
    """A caller gets every problem in one exception, sorted by place."""
    edits = {
        "v1/task.json#/$defs/Task/properties/state/$ref": "#/$defs/Nothing",
        "operations.json#/operations/0/request": "Nothing",
    }
    with pytest.raises(ContractError) as raised:
        build_contract(small(edits))
    assert [(problem.place.file, problem.rule) for problem in raised.value.problems] == [
        ("operations.json", "A2A-C11"),
        ("v1/task.json", "A2A-R04"),
    ]

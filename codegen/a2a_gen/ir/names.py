"""Python names of the contract; no other module makes any.

A wire name becomes the name that datamodel-code-generator gives it, so names in tables and in
models agree; a test compares the two. Two members with the same Python name are a problem of the
contract and not numbered here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from keyword import iskeyword

from a2a_gen.ir.model import (
    ClassName,
    FieldName,
    ListOf,
    MapOf,
    ModuleName,
    OneOf,
    Primitive,
    TypeExpr,
)

_NON_WORD = re.compile(r"\W")
_WORD_BEGINS = re.compile(r"([^_])([A-Z][a-z]+)")
_CAPITAL_FOLLOWS = re.compile(r"([a-z0-9])([A-Z])")
# Windows reserves these names for devices.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
_MAX_LENGTH = 60

# Attributes that every Pydantic model has.
_TAKEN_BY_MODELS = frozenset(
    """
    construct copy dict from_orm json model_computed_fields model_config model_construct
    model_copy model_dump model_dump_json model_extra model_fields model_fields_set
    model_json_schema model_parametrized_name model_post_init model_rebuild model_validate
    model_validate_json model_validate_strings mro parse_file parse_obj parse_raw register schema
    schema_json update_forward_refs validate
    """.split()  # noqa: SIM905 - a list would take thirty lines
)

# Names that a client or a service defines, or uses in its annotations.
_TAKEN_BY_SKILLS = frozenset({"aclose", "str", "untyped"})

# First word of the annotation of each type: a member of that name would hide the type from its own
# annotation.
_ANNOTATIONS = {
    Primitive.STRING: "str",
    Primitive.INTEGER: "int",
    Primitive.NUMBER: "float",
    Primitive.BOOLEAN: "bool",
}


def class_name(name: str) -> ClassName:
    """Return the name of a type unchanged; the contract names types for Python."""
    return ClassName(name)


def module_name(file: str) -> ModuleName:
    """Name the module of a file: ``v1_0/message.json`` becomes ``message``."""
    return ModuleName(_word(file.rpartition("/")[2].partition(".")[0]).lower())


def field_name(wire: str, of: TypeExpr | None = None) -> FieldName:
    """Name a member in Python: ``mediaType`` becomes ``media_type``, and ``in`` becomes ``in_``."""
    name = _snake(_word(wire))
    hidden = name in _TAKEN_BY_MODELS or (of is not None and name in _annotation_words(of))
    return FieldName(f"{name}_" if iskeyword(name) or hidden else name)


def member_name(wire: str) -> FieldName:
    """Name a value of an enumeration in Python: ``input-required`` becomes ``INPUT_REQUIRED``."""
    return FieldName("MRO_" if wire == "mro" else _snake(_word(wire)).upper())


def skill_word(skill: str) -> str:
    """Convert a skill id of any origin to a word for methods, types and files; an id without usable
    letters gets a hash.
    """
    word = re.sub(r"[^A-Za-z0-9_-]", "_", skill)
    if (
        skill.isascii()
        and len(word) <= _MAX_LENGTH
        and re.search(r"[A-Za-z0-9]", word)
        and not _DEVICE.fullmatch(word)
    ):
        return word
    return f"{word.strip('_-')[:_MAX_LENGTH] or 'skill'}_{_escape_keyword(skill)}"


def file_word(skill: str) -> str:
    """Convert a skill id to a file name that is unique on case-insensitive file systems."""
    word = skill_word(skill)
    if word == word.lower() or word.endswith(_escape_keyword(skill)):
        return word
    return f"{word}_{_escape_keyword(skill)}"


def skill_method(skill: str) -> str:
    """Name the method of a skill."""
    name = _snake(_word(skill))
    if iskeyword(name) or name in _TAKEN_BY_SKILLS:
        return f"{name}_"
    return name


def skill_constant(method: str) -> str:
    """Name the entry of a skill, or of its question, in the table of skills."""
    name = method.upper().rstrip("_")
    # The module of skills calls its payload of plain text so.
    return "TEXT_" if name == "TEXT" else name


def skill_methods(skills: Iterable[str]) -> Mapping[str, str]:
    """Name the methods of skills with arbitrary ids; of those that would share a name, only the
    skill with exactly that id keeps it.
    """
    wanted = {skill: skill_method(skill_word(skill).strip("_-")) for skill in skills}
    counts = Counter(wanted.values())
    for skill, name in wanted.items():
        if counts[name] > 1 and name != skill:
            wanted[skill] = f"{name}_{_escape_keyword(skill)}"
    return wanted


def is_class_name(name: str) -> bool:
    """Check that a type can have this name in Python."""
    return name.isidentifier() and not iskeyword(name) and not name.startswith("_")


def _escape_keyword(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _word(wire: str) -> str:
    word = _NON_WORD.sub("_", wire.removeprefix("#") or "_")
    if word[0].isnumeric():
        return f"field_{word}"
    if word.startswith("_"):
        return f"field{word}"
    return word


def _snake(word: str) -> str:
    return _CAPITAL_FOLLOWS.sub(r"\1_\2", _WORD_BEGINS.sub(r"\1_\2", word)).lower()


def _annotation_words(of: TypeExpr) -> frozenset[str]:
    match of:
        case Primitive():
            return frozenset({_ANNOTATIONS[of]} if of in _ANNOTATIONS else ())
        case ListOf(item):
            return frozenset({"list"}) | _annotation_words(item)
        case MapOf(value):
            return frozenset({"dict"}) | _annotation_words(value)
        case OneOf(options):
            return frozenset[str]().union(*map(_annotation_words, options))
        case _:
            return frozenset()

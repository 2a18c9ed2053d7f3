"""Modules of a registry as descriptors of skills.

    module_id                     id, and in words the name
    description, tags             the same; a module without a description is skipped, and warned of
    examples                      the inputs of the first ten as JSON
    input_schema, output_schema   the schemas, and from them the media types
    annotations                   ``extensions.apcore.annotations`` of the skill on cards of 0.3;
                                  whether a call may be repeated

Nothing here imports the framework: releases differ in their classes, not in the names that are
read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from a2a_contract.base import JsonObject
from a2a_runtime.features.apcore.inputs import InputReader, find_file_property, find_text_property
from a2a_runtime.ports.skill_source import SkillDescriptor

JSON = "application/json"
TEXT = "text/plain"
ANYTHING = "*/*"
MAX_EXAMPLES = 10

_FLAGS = ("readonly", "destructive", "idempotent", "requires_approval", "open_world")

log = logging.getLogger(__name__)


class RegisteredModule(NamedTuple):
    """A module with its definition, as a registry holds them."""

    id: str
    definition: Any
    module: Any

    @property
    def has_description(self) -> bool:
        """True if the module can be a skill."""
        return bool((self.definition.description or "").strip())

    @property
    def streams(self) -> bool:
        """True if the module can return its output in chunks."""
        return callable(getattr(self.module, "stream", None)) or self.has_flag("streaming")

    @property
    def requires_approval(self) -> bool:
        """True if each call needs an approval."""
        return self.has_flag("requires_approval")

    def has_flag(self, name: str) -> bool:
        """Return whether an annotation is set."""
        return bool(getattr(self.definition.annotations, name, False))


def list_modules(registry: Any) -> Iterator[RegisteredModule]:
    """List the modules that may be offered; one that is unregistered meanwhile is left out."""
    for module_id in list(registry.list()):
        definition = registry.get_definition(module_id)
        if definition is not None:
            yield RegisteredModule(module_id, definition, registry.get(module_id))


def describe_module(found: RegisteredModule, *, is_protected: bool = False) -> SkillDescriptor:
    """Describe a module as a skill.

    Its limit in time is kept by the caller of the module, which reports it in the words of the
    framework.
    """
    definition = found.definition
    input_schema = _read_schema(definition.input_schema)
    output_schema = _read_schema(definition.output_schema)
    files = () if find_file_property(input_schema) is None else (ANYTHING,)
    return SkillDescriptor(
        found.id,
        definition.description,
        to_title(found.id),
        tags=tuple(definition.tags or ()),
        examples=tuple(map(_dump_inputs, _list_examples(definition))),
        input_schema=input_schema,
        output_schema=output_schema,
        input_modes=(*find_modes(input_schema), *files),
        output_modes=find_modes(output_schema),
        parse=InputReader(input_schema),
        is_read_only=found.has_flag("readonly"),
        is_idempotent=found.has_flag("idempotent"),
        streams=found.streams,
        asks=found.requires_approval,
        is_protected=is_protected,
        timeout=None,
        annotations=_build_card_members(definition),
    )


def to_title(module_id: str) -> str:
    """Write an id in words: ``image.resize_all`` is Image Resize All."""
    return module_id.replace(".", " ").replace("_", " ").title()


def find_modes(schema: JsonObject | None) -> Sequence[str]:
    """Find the media types of a schema: JSON, text for a text or an object of one text, and only
    text without a schema.
    """
    if schema is None:
        return (TEXT,)
    if schema.get("type") == "string" or find_text_property(schema) is not None:
        return (JSON, TEXT)
    return (JSON,)


def _read_schema(schema: Mapping[str, Any] | None) -> JsonObject | None:
    """Read a schema; modules without one have an empty one."""
    if schema:
        return dict(schema)
    return None


def _list_examples(definition: Any) -> Sequence[Any]:
    return list(definition.examples or ())[:MAX_EXAMPLES]


def _dump_inputs(example: Any) -> str:
    inputs: object = getattr(example, "inputs", None) or getattr(example, "input", None) or {}
    return json.dumps(inputs, ensure_ascii=False, default=str)


def _build_card_members(definition: Any) -> JsonObject:
    """Build the members of the skill that cards of 0.3 have no name for; an empty list of examples
    stands there too.
    """
    own: dict[str, object] = {}
    if definition.annotations is not None:
        own["annotations"] = {
            name: bool(getattr(definition.annotations, name, False)) for name in _FLAGS
        }
    listed = _list_examples(definition)
    if examples := [
        {"name": each.title, "input": {"type": "text", "text": _dump_inputs(each)}}
        for each in listed
    ]:
        own["examples"] = examples
    members: dict[str, object] = {}
    if not examples:
        members["examples"] = []
    if own:
        members["extensions"] = {"apcore": own}
    return members

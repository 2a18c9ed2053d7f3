"""The schemas of a remote agent as files to make types from: what several of them have in common becomes one type again.

An agent serves each schema whole. Definitions that are the same to the letter, under the same name, were one definition; others of that name get the
name of their skill in front.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from a2a_gen.agent import keywords
from a2a_gen.agent.catalogue import pascal
from a2a_gen.agent.keywords import Schema
from a2a_gen.agent.shown import Served
from a2a_gen.ir.names import skill_word
from a2a_gen.source.json_text import Json


class Merged:
    """Files of definitions, one for each draft, and where each schema has gone."""

    def __init__(self, schemas: Iterable[Served]) -> None:
        self._drafts: dict[str, dict[str, Json]] = {}
        self.references: dict[tuple[str, str], str] = {}
        for each in schemas:
            self._add(each)

    @property
    def files(self) -> Mapping[str, bytes]:
        """The files, by their names."""
        return {
            _file(index): json.dumps({"$schema": draft, "$defs": definitions}).encode()
            for index, (draft, definitions) in enumerate(self._drafts.items())
        }

    def _add(self, served: Served) -> None:
        schema = served.data
        draft = keywords.text(schema, "$schema") or "https://json-schema.org/draft/2020-12/schema"
        definitions = self._drafts.setdefault(draft, {})
        holder = next((each for each in keywords.HOLDERS if each in schema), "$defs")
        own = keywords.members(schema, holder)
        body: Json = {key: value for key, value in schema.items() if key not in {holder, "$schema", "$id"}}
        skill = pascal(skill_word(served.skill))
        root = pascal(keywords.text(schema, "title")) or f"{skill}{pascal(served.use)}"
        root = f"{root}Root" if root in own else root
        wanted: Schema = {name: _untitled(name, each) for name, each in {**own, root: body}.items()}
        names = self._names(wanted, served, definitions, holder)
        definitions |= {names[name]: _renamed(each, names, holder) for name, each in wanted.items()}
        self.references[served.skill, served.use] = f"{_file(list(self._drafts).index(draft))}#/$defs/{names[root]}"

    def _names(self, wanted: Schema, served: Served, taken: Schema, holder: str) -> Mapping[str, str]:
        """Choose the names; a definition keeps its name when what is there under it says the same."""
        names = {name: name for name in wanted}
        while clash := next((name for name, new in names.items() if new in taken and taken[new] != _renamed(wanted[name], names, holder)), None):
            names[clash] = f"{pascal(skill_word(served.skill))}{names[clash]}"
        return names


def _untitled(name: str, schema: Json) -> Json:
    """Drop a title that only repeats the name: it is there in the schema that is served, and may not be where another refers to it."""
    if not isinstance(schema, dict) or pascal(keywords.text(schema, "title")) != name:
        return schema
    return {key: value for key, value in schema.items() if key != "title"}


def _file(index: int) -> str:
    return f"agent{index + 1 if index else ''}.json"


def _renamed(value: Json, names: Mapping[str, str], holder: str) -> Json:
    if isinstance(value, list):
        return [_renamed(each, names, holder) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _reference(each, names, holder) if key == "$ref" and isinstance(each, str) else _renamed(each, names, holder)
        for key, each in value.items()
    }


def _reference(text: str, names: Mapping[str, str], holder: str) -> str:
    name = text.removeprefix(f"#/{holder}/")
    return f"#/$defs/{names[name]}" if name in names and name != text else text

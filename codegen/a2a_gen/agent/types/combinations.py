"""Several unions that all apply: a value is of one branch of each, so its type is the union of
their combinations.

``allOf: [{oneOf: [Dog, Cat]}, {oneOf: [Big, Small]}]`` is a big dog, a small dog, a big cat, or a
small cat.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice, product

from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.schemas.catalog import SchemaCatalog
from a2a_gen.agent.schemas.files import Schema
from a2a_gen.agent.types.views import View, ViewSource, views
from a2a_gen.source.json_text import Json

MAX_COMBINATIONS = 64
_MAX_TRIALS = 2_000
_MAX_REFERENCES = 20


def list_union_branches(source: ViewSource, catalogue: SchemaCatalog) -> list[ViewSource]:
    """List the branches of a schema that is a union and says nothing else about members, itself or
    by reference; empty for any other.
    """
    for _ in range(_MAX_REFERENCES):
        schema = source.schema
        if not isinstance(schema, dict):
            return []
        keywords = [each for each in ("oneOf", "anyOf") if each in schema]
        rest: Schema = {
            key: value
            for key, value in schema.items()
            if key not in {*keywords, *schemas.REFERENCES, "type"}
        }
        text = schemas.reference(schema)
        if schemas.is_about_types(dict(rest)) or len(keywords) + (text is not None) != 1:
            return []
        if text is None:
            return [
                source.part(f"/{keywords[0]}/{index}", each)
                for index, each in enumerate(schemas.items(schema, keywords[0]))
            ]
        target = catalogue.follow(source.place, text)
        if target is None:
            return []
        source = ViewSource(catalogue.library.value(target), target)
    return []


def combine_branches(
    sources: Sequence[ViewSource], catalogue: SchemaCatalog
) -> list[list[ViewSource]]:
    """Combine the branches of several unions of objects that all apply, each with each; empty where
    there are not two such unions.

    Combinations that no value can satisfy are left out. There may be more than
    ``MAX_COMBINATIONS``.
    """
    listed = [(source, list_union_branches(source, catalogue)) for source in sources]
    found = [branches for _, branches in listed if branches]
    if len(found) < 2:  # noqa: PLR2004 - each with each other
        return []
    unions: list[list[ViewSource]] = []
    others: list[ViewSource] = []
    for source, branches in listed:
        if _is_of_objects(branches, catalogue):
            unions.append(branches)
        else:
            others.append(source)
    if len(unions) < 2:  # noqa: PLR2004 - as above
        return []
    combined = [[*each, *others] for each in islice(product(*unions), _MAX_TRIALS + 1)]
    # There are too many anyway, and each trial takes long.
    if len(combined) > _MAX_TRIALS:
        return combined
    return [each for each in combined if _is_possible(views(each, catalogue))]


def _is_of_objects(branches: Sequence[ViewSource], catalogue: SchemaCatalog) -> bool:
    found = chain.from_iterable(views([each], catalogue) for each in branches)
    return any(view.schema.get("properties") for view in found)


def _is_possible(found: Sequence[View]) -> bool:
    """Check that schemas that all apply agree on a kind of value, and on a value for each required
    member that has one of a few words.
    """
    sure = [view.schema for view in found if view.is_sure]
    kinds = [schemas.value_kinds(schema) for schema in sure if "type" in schema]
    required = schemas.required(sure)
    words: dict[str, set[str]] = {}
    for schema in sure:
        for name, member in schemas.members(schema, "properties").items():
            listed = _list_words(member) if name in required else None
            if listed is not None:
                words[name] = words.get(name, listed) & listed
    return all(words.values()) and (not kinds or bool(set[str].intersection(*kinds)))


def _list_words(member: Json) -> set[str] | None:
    schema: Schema = member if isinstance(member, dict) else {}
    values = [schema["const"]] if "const" in schema else schemas.items(schema, "enum")
    words = {each for each in values if isinstance(each, str)}
    if values and len(words) == len(values):
        return words
    return None

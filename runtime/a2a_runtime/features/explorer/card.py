"""The description of a card for the page: the card in canonical form, findings with their places,
interfaces, skills with schemas, security.

findings     the schema of the card's dialect, unknown members, and what no schema can say;
             level: error, warning or info
skills       with the JSON Schemas that the card names, read from origins that the agent is
             trusted at, if their hash fits
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from pydantic_core import from_json

from a2a_contract.dialects import CANONICAL, MESH, V0_3, Dialect
from a2a_contract.errors import A2AError
from a2a_contract.extension_table import SKILL_SCHEMAS
from a2a_contract.extensions.skill_schemas import SchemaReference, SkillSchemas
from a2a_contract.field_paths import FieldPath, render_path
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.typed_schema import SchemaValidator
from a2a_contract.v1_0 import AgentCard
from a2a_runtime.base.card_extensions import find_params
from a2a_runtime.client.connection import AgentConnection
from a2a_runtime.client.errors import A2AClientError
from a2a_runtime.features.explorer.security import describe_security
from a2a_runtime.features.explorer.session import (
    AgentSession,
    CardReading,
    ListedInterface,
    is_same_origin,
    iter_trusted,
)
from a2a_runtime.features.explorer.signatures import describe_signatures

_MAX_SKILLS = 200
_MAX_PARALLEL = 8
_MAX_UNKNOWN = 50
ERROR = "error"
WARNING = "warning"
INFO = "info"


async def describe_agent(session: AgentSession) -> dict[str, object]:
    """Describe the card of an agent, with the exchanges that it took."""
    reading = await session.read_card()
    document = _parse_json(reading.body)
    described: dict[str, object] = {
        "card": None,
        "raw": reading.body.decode("utf-8", "replace"),
        "source": reading.url,
        "interfaces": [],
        "skills": [],
        "security": [],
        "signatures": [],
    }
    findings = [*_list_findings(reading, document)]
    if reading.resolved is not None:
        card = reading.resolved.card
        interfaces = session.list_interfaces(reading.resolved)
        findings += _check_card(card, interfaces, session.agent.url)
        described |= {
            "card": card.to_dict(),
            "dialect": reading.resolved.dialect.version or reading.resolved.dialect.name,
            "interfaces": [each.to_dict() for each in interfaces],
            "skills": await _describe_skills(session, reading, interfaces),
            "security": describe_security(card),
            "signatures": await describe_signatures(session, reading.resolved, document),
        }
    return {**described, "findings": findings, "exchanges": session.recorder.to_list()}


def _list_findings(reading: CardReading, document: object) -> Iterator[dict[str, str]]:
    """List what the schema says of the document of a card."""
    if not reading.body:
        yield _find("", "no card was read: the address is that of an interface", INFO)
        return
    if reading.problem:
        yield _find("", reading.problem, ERROR)
    if not is_json_object(document):
        return
    dialect = reading.resolved.dialect if reading.resolved else _guess_dialect(document)
    yield from (
        _find(render_path(path), text, ERROR)
        for path, text in _load_validator(dialect.name).list_errors(document)
    )
    # One document may be the card of several versions.
    versions = [
        dialect,
        *(
            each
            for each in (CANONICAL, V0_3)
            if each is not dialect and _load_validator(each.name).is_valid(document)
        ),
    ]
    unknown = [[*_list_unknown(document, "AgentCard", each.name)] for each in versions]
    titles = " or ".join(each.title for each in versions)
    in_all = set(unknown[0]).intersection(*unknown[1:])
    for number, path in enumerate(path for path in unknown[0] if path in in_all):
        if number == _MAX_UNKNOWN:
            yield _find("", "more unknown members are not listed", INFO)
            return
        yield _find(render_path(path), f"not a member of {titles}: clients ignore it", INFO)


def _check_card(
    card: AgentCard, interfaces: Sequence[ListedInterface], url: str
) -> Iterator[dict[str, str]]:
    """List what no schema can say of a card."""
    for number, each in enumerate(interfaces):
        path = f"supportedInterfaces[{number}]"
        if each.usable is None:
            yield _find(path, each.reason, WARNING)
        elif not is_same_origin(each.usable.url, [url]) and each.usable.transport.value != "GRPC":
            yield _find(
                f"{path}.url",
                (
                    "another origin than that of the card: clients send it no credentials unless "
                    "they are told to"
                ),
                WARNING,
            )
    if not any(each.usable for each in interfaces):
        yield _find("supportedInterfaces", "no interface that this client can use", ERROR)
    yield from _check_requirements(card)
    yield from _check_skills(card)


def _check_requirements(card: AgentCard) -> Iterator[dict[str, str]]:
    known = card.security_schemes or {}
    for number, requirement in enumerate(card.security_requirements or ()):
        for name in requirement.schemes or {}:
            if name not in known:
                yield _find(
                    f"securityRequirements[{number}]",
                    f"the scheme {name!r} is not in securitySchemes",
                    ERROR,
                )


def _check_skills(card: AgentCard) -> Iterator[dict[str, str]]:
    ids = [skill.id for skill in card.skills]
    for number, skill in enumerate(card.skills):
        if skill.id in ids[:number]:
            yield _find(f"skills[{number}].id", f"another skill has the id {skill.id!r}", ERROR)
        if not skill.description.strip():
            yield _find(
                f"skills[{number}].description",
                "empty: clients and models choose skills by it",
                WARNING,
            )
    if not card.skills:
        yield _find("skills", "none: clients cannot know what the agent is for", WARNING)


async def _describe_skills(
    session: AgentSession, reading: CardReading, interfaces: Sequence[ListedInterface]
) -> list[dict[str, object]]:
    resolved = reading.resolved
    if resolved is None:
        return []
    params = find_params(resolved.card, SKILL_SCHEMAS)
    contracts: Mapping[str, SkillSchemas] = params.skills if params else {}
    usable = next((each.id for each in interfaces if each.usable is not None), None)
    connection = None
    if usable is not None and contracts:
        connection, _ = session.connect(resolved, usable)
    trusted = [*iter_trusted(session.agent, interfaces)]
    limit = asyncio.Semaphore(_MAX_PARALLEL)

    async def read(reference: SchemaReference | None) -> object:
        if connection is None or reference is None or not is_same_origin(reference.url, trusted):
            return None
        async with limit:
            return await _read_schema(connection, reference)

    described: list[dict[str, object]] = []
    for skill in resolved.card.skills[:_MAX_SKILLS]:
        contract = contracts.get(skill.id)
        references = (contract.input, contract.output) if contract else (None, None)
        given, made = await asyncio.gather(*map(read, references))
        described.append(
            {
                **skill.to_dict(),
                "inputSchema": given,
                "outputSchema": made,
                "typed": bool(contract and (contract.input or contract.output)),
                "stream": bool(contract and contract.streaming),
            }
        )
    return described


async def _read_schema(connection: AgentConnection, reference: SchemaReference) -> object:
    """Read a schema that a card names; ``None`` if it cannot be read, or is not the one that the
    card names.
    """
    try:
        document = await connection.fetch_document(reference.url)
    except (A2AClientError, A2AError):
        return None
    if sha256(document).hexdigest() == reference.sha256:
        return _parse_json(document)
    return None


def _find(path: str, text: str, level: str) -> dict[str, str]:
    return {"path": path, "text": text, "level": level}


def _parse_json(body: bytes) -> object:
    try:
        document: object = from_json(body) if body else None
    except ValueError:
        return None
    return document


def _guess_dialect(document: Mapping[str, object]) -> Dialect:
    """Guess the dialect of a card that no reader takes."""
    if "supportedInterfaces" in document:
        return CANONICAL
    if "protocolVersion" in document or "preferredTransport" in document:
        return V0_3
    return MESH


@cache
def _load_schema(dialect: str) -> Mapping[str, object]:
    document: object = from_json(
        (files("a2a_contract") / "schemas" / f"{dialect}.json").read_bytes()
    )
    if is_json_object(document):
        return document
    return {}


@cache
def _load_validator(dialect: str) -> SchemaValidator:
    return SchemaValidator({**_load_schema(dialect), "$ref": "#/$defs/AgentCard"})


def _list_unknown(
    value: object, type_name: str, dialect: str, path: FieldPath = ()
) -> Iterator[FieldPath]:
    """List the members that the schema of a type does not have; those of unions and of free JSON
    are not looked at.
    """
    types = _load_schema(dialect).get("$defs")
    schema = types.get(type_name) if is_json_object(types) else None
    members = schema.get("properties") if is_json_object(schema) else None
    if not is_json_object(value) or not is_json_object(members):
        return
    for name, each in value.items():
        rule = members.get(name)
        if not is_json_object(rule):
            yield (*path, name)
            continue
        items = rule.get("items")
        values = rule.get("additionalProperties")
        if "$ref" in rule:
            yield from _list_unknown(each, _to_type_name(rule), dialect, (*path, name))
        elif is_json_array(each) and is_json_object(items) and "$ref" in items:
            for number, item in enumerate(each):
                yield from _list_unknown(item, _to_type_name(items), dialect, (*path, name, number))
        elif is_json_object(each) and is_json_object(values) and "$ref" in values:
            for key, item in each.items():
                yield from _list_unknown(item, _to_type_name(values), dialect, (*path, name, key))


def _to_type_name(rule: Mapping[str, object]) -> str:
    return str(rule["$ref"]).rpartition("/")[2]

"""Translations between the canonical model and every other dialect lose nothing but what the
dialect says it cannot carry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

import pytest
from contract.documents import EXAMPLES, read_examples
from contract.translation_pairs import CONTRACT, DIALECTS, DOCUMENTS, Translated, losses, pairs_of
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from a2a_gen.emit import translations
from a2a_gen.emit.translate.rules import Direction
from a2a_gen.ir.model import Loss, Record

EVERY = [
    Translated(dialect, pair, direction)
    for dialect in DIALECTS
    for pair in sorted(pairs_of(dialect).found)
    for direction in Direction
]
# The branches of a union whose members lie flat in ours are written for some of the members only;
# the union is tested instead.
WHOLE = [
    each
    for each in EVERY
    if each.direction is Direction.READ or each.pair not in pairs_of(each.dialect).flat
]
LINES = [(dialect, line) for dialect, row in DIALECTS.items() for line in row.lossy]

SEARCH = settings(
    max_examples=300,
    phases=[Phase.generate],
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    database=None,
)

CARD = {
    "name": "n",
    "description": "",
    "version": "1",
    "capabilities": {},
    "supportedInterfaces": [],
    "defaultInputModes": [],
    "defaultOutputModes": [],
    "skills": [{"id": "s", "name": "s", "description": "", "tags": []}],
    "securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "k"}}},
    "securityRequirements": [{"schemes": {"key": {}}}],
}
INTERFACES = [
    {
        "url": "https://one.example.com",
        "protocolBinding": "JSONRPC",
        "protocolVersion": "1.0",
        "tenant": "acme",
    },
    {"url": "https://two.example.com", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
]
CARDS = [
    {**CARD, "iconUrl": "https://example.com/icon.png"},
    {**CARD, "signatures": [{"protected": "e30", "signature": "c2ln"}]},
    {**CARD, "supportedInterfaces": INTERFACES},
]
CONFIG: dict[str, object] = {
    "name": "tasks/1/pushNotificationConfigs/2",
    "pushNotificationConfig": {"id": "3", "url": "u"},
}
CREATE = {"parent": "tasks/1", "configId": "4", "config": CONFIG}
# Documents that show a loss where luck would have to be great to make one.
LOSSY_DOCUMENTS: dict[tuple[str, str, str], list[object]] = {
    ("v0_3_proto", "TaskPushNotificationConfig", "pushNotificationConfig.id"): [CONFIG],
    ("v0_3_proto", "CreateTaskPushNotificationConfigRequest", "config.pushNotificationConfig.id"): [
        CREATE
    ],
    ("v0_3_proto", "CreateTaskPushNotificationConfigRequest", "config.name"): [CREATE],
    ("mesh", "AgentCard", "securitySchemes"): [CARD],
    ("mesh", "AgentCard", "securityRequirements"): [CARD],
    ("mesh", "AgentCard", "iconUrl"): CARDS,
    ("mesh", "AgentCard", "signatures"): CARDS,
    ("mesh", "AgentCard", "supportedInterfaces"): CARDS,
    ("v0_3", "AgentCard", "supportedInterfaces.tenant"): CARDS,
    ("v0_3", "AgentCard", "supportedInterfaces.protocolVersion"): CARDS,
    ("v0_3_proto", "AgentCard", "supportedInterfaces.tenant"): CARDS,
    ("v0_3_proto", "AgentCard", "supportedInterfaces.protocolVersion"): CARDS,
}


def examples() -> Iterator[tuple[Translated, str, object]]:
    """Go through the valid examples of every type, from both sides."""
    for each in WHOLE:
        dialect, name = each.source
        path = EXAMPLES / dialect / f"{name}.json"
        for reason, document in (
            sorted(read_examples(path, "valid").items()) if path.exists() else ()
        ):
            yield each, reason, document


def list_unexplained(translated: Translated, document: object) -> list[str]:
    """List what a translation drops without a line that says so."""
    return [
        f"{difference.path}: {difference.first} → {difference.second}"
        for difference in translated.list_dropped(document)
        if not losses(translated, difference)
    ]


EXAMPLES_OF = list(examples())


@pytest.mark.parametrize(
    ("translated", "document"),
    [(each, document) for each, _, document in EXAMPLES_OF],
    ids=[f"{each}-{name}" for each, name, _ in EXAMPLES_OF],
)
def test_an_example_comes_back(translated: Translated, document: object) -> None:
    """A valid example of a type comes back from the other side, except for what the dialect says it
    cannot carry.
    """
    assert list_unexplained(translated, document) == []


@pytest.mark.parametrize("translated", WHOLE, ids=str)
@given(data=st.data())
def test_any_document_comes_back(translated: Translated, data: st.DataObject) -> None:
    """A document of any content comes back from the other side, except for what the dialect says it
    cannot carry.
    """
    assert list_unexplained(translated, data.draw(DOCUMENTS.of(*translated.source))) == []


def candidates(dialect: str, line: Loss) -> list[Translated]:
    """List the translations that may show a loss: of the type itself, else of what holds it, the
    smaller ones first.
    """
    own = [each for each in WHOLE if each.dialect == dialect and each.direction == line.direction]
    ours = {pair.ours for pair in pairs_of(dialect).found if pair.theirs == line.type}
    exact = (
        [each for each in own if each.pair.theirs == line.type]
        or [each for each in own if each.pair.ours in ours]
        or own
    )
    return sorted(exact, key=lambda each: (not has_member(each, line.member), fields(each)))


def shows(translated: Translated, line: Loss, document: object) -> bool:
    """Say whether a document loses what a line says."""
    return any(
        line in losses(translated, difference) for difference in translated.list_dropped(document)
    )


def find_lossy_example(translated: Translated, line: Loss) -> object:
    """Find a valid example that loses the member of a line: generated documents depend on imported
    modules, examples do not.
    """
    return next(
        (
            document
            for each, _, document in EXAMPLES_OF
            if each == translated and shows(translated, line, document)
        ),
        None,
    )


def has_member(translated: Translated, member: str) -> bool:
    """Say whether the type that a translation starts from has a member."""
    definition = CONTRACT.type(*translated.source)
    return isinstance(definition, Record) and definition.field(member.partition(".")[0]) is not None


def fields(translated: Translated) -> int:
    """Count the members of the type that a translation starts from."""
    definition = CONTRACT.type(*translated.source)
    return len(definition.fields) if isinstance(definition, Record) else 0


@pytest.mark.parametrize(
    ("dialect", "line"),
    LINES,
    ids=[f"{dialect}-{line.direction}-{line.type}-{line.member}" for dialect, line in LINES],
)
def test_every_loss_happens(dialect: str, line: Loss) -> None:
    """Every member in the list of losses is dropped from some document of the type."""
    for each in candidates(dialect, line):
        found = find_lossy_example(each, line)
        if found is None:
            examples = LOSSY_DOCUMENTS.get((dialect, line.type, line.member))
            documents = st.sampled_from(examples) if examples else DOCUMENTS.of(*each.source)
            try:
                found = find(documents, partial(shows, each, line), settings=SEARCH)
            except NoSuchExample:
                continue
        text = (
            f"{dialect}, {line.direction}: {line.type}.{line.member} is lost, because "
            f"{line.reason}; such as in {json.dumps(found)[:150]}"
        )
        print(text)  # noqa: T201 - `pytest -rP` lists what every translation drops
        return
    pytest.fail(f"nothing that a {line.type} can say is lost in {line.member}")


def test_every_type_of_an_operation_goes_both_ways() -> None:
    """Client and server need both directions of everything that an operation takes or gives."""
    for dialect in DIALECTS:
        for operation in CONTRACT.operations:
            call = operation.call(dialect)
            sides = (
                [(call.request, operation.request), (call.result, operation.response)]
                if call
                else []
            )
            for theirs, ours in sides:
                assert (
                    not theirs
                    or not ours
                    or any(
                        (pair.theirs, pair.ours) == (theirs, ours)
                        for pair in pairs_of(dialect).found
                    )
                )


def test_the_table_of_the_contract_has_no_problem() -> None:
    """Every member is translated or declared as lost, and every rule and line is used."""
    assert translations.check(CONTRACT) == ()

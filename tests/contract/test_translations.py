"""Translations between the canonical model and every other dialect lose nothing but what the dialect says it cannot carry."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from contract.strategies import EXAMPLES
from contract.translated import CONTRACT, DIALECTS, DOCUMENTS, Translated, losses, pairs_of
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from a2a_gen.emit import translations
from a2a_gen.emit.translate.rules import Direction
from a2a_gen.ir.model import Loss

EVERY = [Translated(dialect, pair, direction) for dialect in DIALECTS for pair in sorted(pairs_of(dialect).found) for direction in Direction]
# The branches of a union whose members lie flat in ours are written for some of the members only; the union is tested instead.
WHOLE = [each for each in EVERY if each.direction is Direction.READ or each.pair not in pairs_of(each.dialect).flat]
LINES = [(dialect, line) for dialect, row in DIALECTS.items() for line in row.lossy]

# Documents that are valid in their dialect and say nothing that 1.0 could hold.
NO_CANONICAL_FORM = {
    "v0_3/OAuthFlows/none": "no flow",
    "v0_3_proto/OAuth2SecurityScheme/empty": "a scheme without a flow",
}


def examples() -> Iterator[tuple[Translated, str, object]]:
    """Go through the valid examples of every type, from both sides."""
    for each in WHOLE:
        dialect, name = each.source
        for path in sorted((EXAMPLES / "valid" / dialect / name).glob("*.json")):
            if f"{dialect}/{name}/{path.stem}" not in NO_CANONICAL_FORM:
                yield each, path.stem, json.loads(path.read_text(encoding="utf-8"))


def unexplained(translated: Translated, document: object) -> list[str]:
    """List what a translation drops without a line that says so."""
    return [
        f"{difference.way}: {difference.first} → {difference.second}"
        for difference in translated.dropped(document)
        if not losses(translated, difference)
    ]


EXAMPLES_OF = list(examples())


@pytest.mark.parametrize(
    ("translated", "document"), [(each, document) for each, _, document in EXAMPLES_OF], ids=[f"{each}-{name}" for each, name, _ in EXAMPLES_OF]
)
def test_an_example_comes_back(translated: Translated, document: object) -> None:
    """A valid example of a type comes back from the other side, except for what the dialect says it cannot carry."""
    assert unexplained(translated, document) == []


@pytest.mark.parametrize("translated", WHOLE, ids=str)
@given(data=st.data())
def test_any_document_comes_back(translated: Translated, data: st.DataObject) -> None:
    """A document of any content comes back from the other side, except for what the dialect says it cannot carry."""
    assert unexplained(translated, data.draw(DOCUMENTS.of(*translated.source))) == []


@pytest.mark.parametrize(("dialect", "line"), LINES, ids=[f"{dialect}-{line.direction}-{line.type}-{line.member}" for dialect, line in LINES])
def test_every_loss_happens(dialect: str, line: Loss) -> None:
    """What a dialect says it cannot carry is indeed dropped, in some document of the type."""
    candidates = [each for each in WHOLE if each.dialect == dialect and each.direction == line.direction and line.type in ("*", each.pair.theirs)]
    candidates = candidates or [each for each in WHOLE if each.dialect == dialect and each.direction == line.direction]
    for each in candidates:
        try:
            document = find(
                DOCUMENTS.of(*each.source),
                lambda document, each=each: any(line in losses(each, difference) for difference in each.dropped(document)),
                settings=settings(
                    max_examples=400, phases=[Phase.generate], derandomize=True, suppress_health_check=list(HealthCheck), database=None
                ),
            )
        except NoSuchExample:
            continue
        print(f"{dialect} {line.direction}: {line.type}.{line.member} is lost ({line.reason}), such as in {json.dumps(document)[:200]}")
        return
    pytest.fail(f"nothing that a {line.type} can say is lost in {line.member}")


def test_every_type_of_an_operation_goes_both_ways() -> None:
    """Client and server need both directions of everything that an operation takes or gives."""
    for dialect in DIALECTS:
        for operation in CONTRACT.operations:
            call = operation.call(dialect)
            sides = [(call.request, operation.request), (call.result, operation.response)] if call else []
            for theirs, ours in sides:
                assert not theirs or not ours or any((pair.theirs, pair.ours) == (theirs, ours) for pair in pairs_of(dialect).found)


def test_the_table_of_the_contract_has_no_problem() -> None:
    """Every member is translated or declared as lost, and every rule and line is used."""
    assert translations.check(CONTRACT) == ()

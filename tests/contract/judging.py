"""Judges of the compatibility check that are not part of it: python-jsonschema, and ajv in a
process of its own.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Self

import jsonschema
import jsonschema_rs
from contract.fuzzing import Json, SchemaMaker, is_endless
from contract.sent_documents import as_sent
from contract.shrinking import shrink
from contract.spellings import SPELLINGS, Spelling
from peers.environments import environment
from referencing.exceptions import Unresolvable

from a2a_gen.diff.report import CompareOptions, Report, compare
from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.diff.sides import ContractSide
from a2a_gen.diff.usage import Usage
from a2a_gen.problems import GeneratorError
from a2a_gen.source.documents import Document

FORMATS = jsonschema.FormatChecker(("date", "ipv4"))
_DOCUMENTS = 12
_PAIRS_PER_AJV = 5  # ajv compiles each schema, which takes longer than everything else


class Ajv:
    """A running ajv; a context manager."""

    def __init__(self) -> None:
        script = Path(__file__).parents[1] / "peers" / "ajv_judge.mjs"
        command = ["node", str(script), str(environment("ajv-8.20.0").interpreter.parent)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def judge(self, schema: Json, documents: list[Json]) -> list[bool] | None:
        """Say which documents are valid; `None` if ajv does not take the schema."""
        pipe_in = self._process.stdin
        pipe_out = self._process.stdout
        if pipe_in is None or pipe_out is None:
            raise RuntimeError("ajv has no pipes")
        pipe_in.write(json.dumps({"schema": schema, "documents": documents}) + "\n")
        pipe_in.flush()
        return json.loads(pipe_out.readline()).get("valid")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=10)


@dataclass
class Outcome:
    """The results of a run: counts, and the pairs that must not be."""

    count: Counter[str] = field(default_factory=Counter)
    unsound: list[tuple[Json, Json, Json]] = field(default_factory=list)
    false_errors: list[tuple[Json, Json]] = field(default_factory=list)
    unconfirmed: list[tuple[Json, Json, Json]] = field(default_factory=list)


def build_side(schema: Json) -> ContractSide:
    """Build a side of one file."""
    return ContractSide(
        {"schema.json": Document("schema.json", json.dumps(schema, indent=1), schema)},
        "old",
        is_plain=True,
    )


def compare_readers(old: Json, new: Json) -> Report:
    """Compare two schemas that are read."""
    return compare(
        build_side(old), build_side(new), CompareOptions("BACKWARD", frozenset({Usage.READ}))
    )


def get_verdict(report: Report) -> str:
    """Sum a report up: safe, undecided or error."""
    level = max((finding.level for finding in report.findings), default=ChangeLevel.NONE)
    return {ChangeLevel.ERROR: "error", ChangeLevel.WARNING: "undecided"}.get(level, "safe")


def shrink_unsound(
    old: dict[str, Json], new: dict[str, Json], document: Json
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Cut what a pair does not need to be no error, although the document is refused."""

    def is_unsound(one: dict[str, Json], other: dict[str, Json]) -> bool:
        if not all(
            isinstance(names, dict) and {"one", "two"} <= names.keys()
            for names in (one.get("$defs"), other.get("$defs"))
        ):
            return False
        try:
            for each in (one, other):
                jsonschema.Draft202012Validator.check_schema(each)
            is_refused = (
                not is_endless(one)
                and not is_endless(other)
                and any(True for _ in list_refused(None, one, other, [document]))
            )
            return is_refused and get_verdict(compare_readers(one, other)) != "error"
        except (jsonschema.SchemaError, GeneratorError, Unresolvable):
            return False

    return shrink(old, new, is_unsound)


def is_valid(schema: Json, document: Json) -> bool:
    """Ask python-jsonschema."""
    return jsonschema.Draft202012Validator(schema, format_checker=FORMATS).is_valid(document)


def list_refused(
    ajv: Ajv | None, old: dict[str, Json], new: dict[str, Json], documents: list[Json]
) -> Iterator[Json]:
    """List the documents that a sender of the old schema writes and the new schema refuses."""
    sent = as_sent(old)
    if ajv is not None:
        answers = [ajv.judge(schema, documents) for schema in (old, sent, new)]
        if None not in answers:
            suspects = [
                each
                for each, was, writes, now in zip(documents, *answers, strict=True)
                if was and writes and not now
            ]
            yield from (
                each
                for each in suspects
                if is_valid(old, each) and is_valid(sent, each) and not is_valid(new, each)
            )
            return
    refusing = jsonschema.Draft202012Validator(new, format_checker=FORMATS)
    yield from (
        each
        for each in documents
        if not refusing.is_valid(each) and is_valid(old, each) and is_valid(sent, each)
    )


def try_pairs(seed: int, count: int, *, ajv: Ajv | None) -> Outcome:
    """Compare random pairs, each a schema that reads and a version of it, and judge what the check
    says.
    """
    outcome = Outcome()
    for index in range(count):
        maker = SchemaMaker(Random(f"{seed} {index}"))  # noqa: S311 - reproducible, not secret
        old = maker.make()
        is_refactoring = index % 3 == 0
        new = maker.refactor(old) if is_refactoring else maker.mutate(old)
        if index % 2:
            old, new = new, old
        if not all(map(jsonschema_rs.meta.is_valid, (old, new))):
            outcome.count["invalid schemas"] += 1
            continue
        if is_endless(old) or is_endless(new):
            outcome.count["endless schemas"] += 1
            continue
        report = _compare_spelled(outcome, (old, new), SPELLINGS[index // 6 % len(SPELLINGS)])
        if report is not None:
            _judge_pair(
                outcome,
                maker,
                (old, new),
                report,
                ajv if index % _PAIRS_PER_AJV == 0 else None,
                is_refactoring=is_refactoring,
            )
    return outcome


def _compare_spelled(
    outcome: Outcome, pair: tuple[dict[str, Json], dict[str, Json]], spell: Spelling
) -> Report | None:
    """Compare a pair in one way to write it, or as one file where that way does not exist."""
    sides = [spell(schema) for schema in pair]
    spelled = [side for side in sides if side is not None]
    try:
        if len(spelled) == len(pair):
            outcome.count[spell.__name__] += 1
            return compare(
                spelled[0], spelled[1], CompareOptions("BACKWARD", frozenset({Usage.READ}))
            )
        return compare_readers(*pair)
    except GeneratorError:
        outcome.count["refused as too large"] += 1
        return None


def _judge_pair(
    outcome: Outcome,
    maker: SchemaMaker,
    pair: tuple[dict[str, Json], dict[str, Json]],
    report: Report,
    ajv: Ajv | None,
    *,
    is_refactoring: bool,
) -> None:
    old, new = pair
    verdict = get_verdict(report)
    outcome.count[f"{'equal' if is_refactoring else 'changed'}: {verdict}"] += 1
    if verdict == "error":
        if is_refactoring:
            outcome.false_errors.append(pair)
        of_root = [
            finding for finding in report.findings if finding.new.file.endswith("schema.json")
        ]
        witnesses = [
            witness.document
            for finding in of_root
            for witness in finding.witnesses
            if not witness.definition
        ]
        outcome.unconfirmed += [
            (old, new, each)
            for each in witnesses[:1]
            if is_valid(new, each) or not is_valid(old, each)
        ]
        return
    documents = maker.make_documents(pair, _DOCUMENTS)
    refused = next(list_refused(ajv, old, new, documents), ...)
    outcome.count["documents judged"] += len(documents)
    if refused is not ...:
        outcome.count[f"{verdict}, and refused"] += 1
        outcome.unsound.append((old, new, refused))

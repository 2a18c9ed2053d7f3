"""Checks of the tables: translations and losses of dialects, errors, states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from a2a_gen.ir.checks.duplicates import find_duplicates
from a2a_gen.ir.model import (
    Alias,
    Contract,
    ContractDialect,
    Enumeration,
    FieldName,
    OneOf,
    Primitive,
    Record,
    Ref,
    Translation,
    TranslationRule,
)
from a2a_gen.problems import Problem

ANY_TYPE = "*"
_TO_UNION = frozenset({"branch", "flat"})


def dialects(contract: Contract) -> Iterator[Problem]:
    """Check that dialects have distinct names and refer only to each other, and that their words
    and wrappers exist.
    """
    known = [dialect.name for dialect in contract.dialects]
    for later, _ in find_duplicates(contract.dialects, lambda dialect: dialect.name):
        yield Problem(
            later.place,
            "A2A-C40",
            f"dialect {later.name} is listed twice",
            "delete or rename one of the two",
        )
    for dialect in contract.dialects:
        if dialect.form_of is not None and dialect.form_of not in known:
            yield Problem(
                dialect.place,
                "A2A-C41",
                f"{dialect.name} is a form of {dialect.form_of}, which is not a dialect",
                f"use one of {', '.join(known)}",
            )
        yield from _enums(contract, dialect)
        for name, member in dialect.wrappers.items():
            if not _has_member(contract, contract.canonical, name, member):
                cure = "name a record of the canonical form and the member that it wraps"
                yield Problem(
                    dialect.place,
                    "A2A-C42",
                    f"{contract.canonical} has no member {member} in {name}",
                    cure,
                )
    if contract.dialects and contract.canonical not in known:
        text = f"the canonical dialect {contract.canonical} is not listed"
        yield Problem(contract.dialects[0].place, "A2A-C41", text, f"use one of {', '.join(known)}")


def _enums(contract: Contract, dialect: ContractDialect) -> Iterator[Problem]:
    for name, words in dialect.enums.items():
        theirs = contract.type(dialect.name, name)
        ours = contract.type(contract.canonical, name)
        if not isinstance(theirs, Enumeration) or not isinstance(ours, Enumeration):
            text = f"{name} is not an enumeration of both {dialect.name} and {contract.canonical}"
            yield Problem(
                dialect.place,
                "A2A-C43",
                text,
                "map only enumerations that both have under one name",
            )
            continue
        for side, used in ((theirs, set(words)), (ours, set(words.values()))):
            if unknown := sorted(used - {value.wire for value in side.values}):
                text = f"{', '.join(unknown)} is not a value of {name} in {side.place.file}"
                yield Problem(
                    dialect.place, "A2A-C44", text, "correct the word, or add it to the enumeration"
                )
        if missing := [value.wire for value in theirs.values if value.wire not in words]:
            yield Problem(
                dialect.place,
                "A2A-C44",
                f"{', '.join(missing)} of {name} has no canonical word",
                "map it to a canonical word",
            )


def translations(contract: Contract) -> Iterator[Problem]:
    """Check that every type and member that a translation names exists."""
    for dialect in contract.dialects:
        for later, first in find_duplicates(
            dialect.translations, lambda each: (each.theirs, each.ours)
        ):
            text = f"{later.theirs} to {later.ours} is listed twice"
            yield Problem(
                later.place, "A2A-C45", text, f"join it with the one in line {first.place.line}"
            )
        for translation in dialect.translations:
            yield from _translation(contract, dialect, translation)


def _translation(
    contract: Contract, dialect: ContractDialect, translation: Translation
) -> Iterator[Problem]:
    place = translation.place
    for side, name in ((dialect.name, translation.theirs), (contract.canonical, translation.ours)):
        if contract.type(side, name) is None:
            cure = f"correct the name, or write the type in {side}/"
            yield Problem(place, "A2A-C46", f"{side} has no type {name}", cure)
            return
    for rule in translation.rules:
        for side, path in _members(contract, dialect, translation, rule):
            yield Problem(
                place,
                "A2A-C47",
                f"rule {rule.kind}: {path} does not exist in {side}",
                "correct the member; dots separate nested objects",
            )


def _members(
    contract: Contract, dialect: ContractDialect, translation: Translation, rule: TranslationRule
) -> Iterator[tuple[str, str]]:
    if rule.kind in _TO_UNION:
        branches = _branches(contract, dialect, translation.theirs)
        yield from (
            (f"{translation.theirs} of {dialect.name}", name)
            for name in rule.theirs
            if name not in branches
        )
    else:
        missing = (
            path
            for path in rule.theirs
            if not _has_member(contract, dialect.name, translation.theirs, path)
        )
        yield from ((f"{translation.theirs} of {dialect.name}", path) for path in missing)
    missing = (
        path
        for path in rule.ours
        if not _has_member(contract, contract.canonical, translation.ours, path)
    )
    yield from ((f"{translation.ours} of {contract.canonical}", path) for path in missing)


def _branches(contract: Contract, dialect: ContractDialect, name: str) -> frozenset[str]:
    union = contract.type(dialect.name, name)
    if isinstance(union, Record):
        return frozenset({name})
    options = (
        union.type.options if isinstance(union, Alias) and isinstance(union.type, OneOf) else ()
    )
    return frozenset(option.name for option in options if isinstance(option, Ref))


def losses(contract: Contract) -> Iterator[Problem]:
    """Check that a loss names a type of its dialect, once per member and direction."""
    for dialect in contract.dialects:
        for later, _ in find_duplicates(
            dialect.lossy, lambda loss: (loss.type, loss.member, loss.direction)
        ):
            yield Problem(
                later.place,
                "A2A-C48",
                f"the loss of {later.member} in {later.type} is listed twice",
                "delete one of the two",
            )
        for loss in dialect.lossy:
            if loss.type != ANY_TYPE and contract.type(dialect.name, loss.type) is None:
                yield Problem(
                    loss.place,
                    "A2A-C49",
                    f"{dialect.name} has no type {loss.type}",
                    "name the type of the dialect in which the member is lost",
                )


def _has_member(contract: Contract, dialect: str, name: str, path: str) -> bool:
    """Check that a dotted path leads to a member; below a free object every path does."""
    first, _, rest = path.partition(".")
    definition = contract.type(dialect, name)
    if isinstance(definition, Alias) and isinstance(definition.type, Ref):
        return _has_member(contract, dialect, definition.type.name, path)
    field = definition.field(first) if isinstance(definition, Record) else None
    if field is None:
        return isinstance(definition, Record) and definition.keeps_unknown
    if not rest or field.type in (Primitive.OBJECT, Primitive.ANY):
        return True
    options = field.type.options if isinstance(field.type, OneOf) else (field.type,)
    return any(
        isinstance(option, Ref) and _has_member(contract, dialect, option.name, rest)
        for option in options
    )


# --- errors ---


def hierarchy(contract: Contract) -> Iterator[Problem]:
    """Check that every error stands below one that was listed before it, and that there is one
    root.
    """
    for later, _ in find_duplicates(contract.errors, lambda row: row.name.casefold()):
        yield Problem(
            later.place,
            "A2A-C20",
            f"error {later.name} is listed twice",
            "delete or rename one of the two",
        )
    before = {contract.error_root}
    for row in contract.errors:
        if row.parent not in before:
            cure = f"list the parent above it, or use {contract.error_root}"
            yield Problem(
                row.place,
                "A2A-C21",
                f"{row.name} stands below {row.parent}, which is not listed above it",
                cure,
            )
        before.add(row.name)


def codes(contract: Contract) -> Iterator[Problem]:
    """Check that a code or reason of a dialect belongs to one error, unless the table lists it as
    shared.
    """
    known = {dialect.name for dialect in contract.dialects}
    for row in contract.errors:
        if row.since is not None and row.since not in known:
            yield Problem(
                row.place,
                "A2A-C22",
                f"unknown dialect {row.since}",
                f"use one of {', '.join(sorted(known))}",
            )
    for dialect in dict.fromkeys(chain.from_iterable(row.columns for row in contract.errors)):
        rows = [row for row in contract.errors if dialect in row.columns]
        if dialect not in known:
            yield Problem(
                rows[0].place,
                "A2A-C22",
                f"unknown dialect {dialect}",
                f"use one of {', '.join(sorted(known))}",
            )
            continue
        for column, shared in (("code", contract.shared_codes), ("reason", (None,))):
            own = [
                (row.columns[dialect][column], row)
                for row in rows
                if row.columns[dialect][column] not in shared
            ]
            for (value, later), (_, first) in find_duplicates(own, lambda pair: repr(pair[0])):
                text = f"{later.name} and {first.name} have the {column} {value} in {dialect}"
                cure = "change one of the two" + (
                    ", or list it in shared_codes" if column == "code" else ""
                )
                yield Problem(later.place, "A2A-C23", text, cure)


# --- states ---


def transitions(contract: Contract) -> Iterator[Problem]:
    """Check that every state is reachable from the initial one, and that every transition leads to
    a state.
    """
    table = contract.lifecycle
    names = {state.name for state in table.states}
    for later, _ in find_duplicates(table.states, lambda state: state.name):
        yield Problem(
            later.place,
            "A2A-C30",
            f"state {later.name} is listed twice",
            "delete or rename one of the two",
        )
    for state in table.states:
        for follower in state.next:
            if follower not in names:
                yield Problem(
                    state.place,
                    "A2A-C31",
                    f"{state.name} leads to {follower}, which is not a state",
                    f"use one of {', '.join(sorted(names))}",
                )
    if table.initial not in names:
        yield Problem(
            table.place,
            "A2A-C31",
            f"tasks begin in {table.initial}, which is not a state",
            f"use one of {', '.join(sorted(names))}",
        )
        return
    reached = _find_reachable(contract)
    for state in table.states:
        if state.name not in reached:
            yield Problem(
                state.place,
                "A2A-C32",
                f"{state.name} is not reachable from {table.initial}",
                "add it to `next` of another state, or delete it",
            )


def _find_reachable(contract: Contract) -> set[FieldName]:
    followers = {state.name: state.next for state in contract.states}
    reached = set[FieldName]()
    waiting = [contract.lifecycle.initial]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(followers.get(name, ()))
    return reached


def spellings(contract: Contract) -> Iterator[Problem]:
    """Check that every state has a spelling in every dialect, which is a word of the dialect's
    enumeration.
    """
    table = contract.lifecycle
    spelled = [(f"state {state.name}", state.spellings, state.place) for state in table.states]
    for what, words, place in (*spelled, ("the unknown state", table.unknown, table.place)):
        for dialect, word in words.items():
            definition = contract.type(dialect, table.type)
            if contract.dialect(dialect) is None:
                yield Problem(
                    place,
                    "A2A-C33",
                    f"unknown dialect {dialect}",
                    f"use one of {', '.join(each.name for each in contract.dialects)}",
                )
            elif not isinstance(definition, Enumeration):
                yield Problem(
                    place,
                    "A2A-C34",
                    f"{dialect} has no enumeration {table.type}",
                    f"write it in {dialect}/, or correct `type`",
                )
            elif word not in {value.wire for value in definition.values}:
                yield Problem(
                    place,
                    "A2A-C35",
                    f"{word}, the spelling of {what} in {dialect}, is not a value of {table.type}",
                    "correct the word, or add it there",
                )
    for what, words, place in spelled:
        for each in contract.dialects:
            if each.name not in words:
                yield Problem(
                    place,
                    "A2A-C36",
                    f"{what} has no spelling in {each.name}",
                    "add the word that is written for it",
                )


def reads(contract: Contract) -> Iterator[Problem]:
    """Check that every word of a dialect is read as one state."""
    table = contract.lifecycle
    for dialect in contract.dialects:
        read = Counter[str]()
        for state in table.states:
            read.update(state.reads.get(dialect.name, ()))
        definition = contract.type(dialect.name, table.type)
        if isinstance(definition, Enumeration):
            words = [value.wire for value in definition.values]
        else:
            words = []
        written = [
            state.spellings[dialect.name]
            for state in table.states
            if dialect.name in state.spellings
        ]
        for word in dict.fromkeys((*words, *written, *read)):
            if read[word] != 1 and word != table.unknown.get(dialect.name):
                text = (
                    f"{word} of {dialect.name} is read as "
                    f"{'several states' if read[word] else 'no state'}"
                )
                yield Problem(
                    table.place, "A2A-C37", text, "list it in `reads` of exactly one state"
                )

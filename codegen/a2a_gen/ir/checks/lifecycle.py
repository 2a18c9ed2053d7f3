"""States: transitions between known ones, and words that every dialect can write and read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from a2a_gen.ir.checks.repeats import repeats
from a2a_gen.ir.model import Contract, Enumeration, FieldName
from a2a_gen.problems import Problem


def transitions(contract: Contract) -> Iterator[Problem]:
    """Every state can be reached from the first one, and every transition leads to a state."""
    table = contract.lifecycle
    names = {state.name for state in table.states}
    for later, _ in repeats(table.states, lambda state: state.name):
        yield Problem(later.place, "A2A-C30", f"state {later.name} is there twice", "delete or rename one of the two")
    for state in table.states:
        for follower in state.next:
            if follower not in names:
                yield Problem(
                    state.place, "A2A-C31", f"{state.name} leads to {follower}, which is no state", f"use one of {', '.join(sorted(names))}"
                )
    if table.initial not in names:
        yield Problem(table.place, "A2A-C31", f"tasks begin in {table.initial}, which is no state", f"use one of {', '.join(sorted(names))}")
        return
    reached = _reached(contract)
    for state in table.states:
        if state.name not in reached:
            yield Problem(
                state.place, "A2A-C32", f"no way leads from {table.initial} to {state.name}", "add it to `next` of another state, or delete it"
            )


def _reached(contract: Contract) -> set[FieldName]:
    followers = {state.name: state.next for state in contract.states}
    reached, waiting = set[FieldName](), [contract.lifecycle.initial]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(followers.get(name, ()))
    return reached


def spellings(contract: Contract) -> Iterator[Problem]:
    """Every state has a spelling in every dialect, which is a word of the dialect's enumeration."""
    table = contract.lifecycle
    spelled = [(f"state {state.name}", state.spellings, state.place) for state in table.states]
    for what, words, place in (*spelled, ("the unknown state", table.unknown, table.place)):
        for dialect, word in words.items():
            named = contract.type(dialect, table.type)
            if contract.dialect(dialect) is None:
                yield Problem(place, "A2A-C33", f"there is no dialect {dialect}", f"use one of {', '.join(each.name for each in contract.dialects)}")
            elif not isinstance(named, Enumeration):
                yield Problem(place, "A2A-C34", f"{dialect} has no enumeration {table.type}", f"write it in {dialect}/, or correct `type`")
            elif word not in {value.wire for value in named.values}:
                yield Problem(
                    place, "A2A-C35", f"{word}, the spelling of {what} in {dialect}, is no value of {table.type}", "correct the word, or add it there"
                )
    for what, words, place in spelled:
        for each in contract.dialects:
            if each.name not in words:
                yield Problem(place, "A2A-C36", f"{what} has no spelling in {each.name}", "add the word that is written for it")


def reading(contract: Contract) -> Iterator[Problem]:
    """Every word of a dialect is read as one state."""
    table = contract.lifecycle
    for dialect in contract.dialects:
        read = Counter(word for state in table.states for word in state.reads.get(dialect.name, ()))
        named = contract.type(dialect.name, table.type)
        words = [value.wire for value in named.values] if isinstance(named, Enumeration) else []
        written = [state.spellings[dialect.name] for state in table.states if dialect.name in state.spellings]
        for word in dict.fromkeys((*words, *written, *read)):
            if read[word] != 1 and word != table.unknown.get(dialect.name):
                text = f"{word} of {dialect.name} is read as {'several states' if read[word] else 'no state'}"
                yield Problem(table.place, "A2A-C37", text, "list it in `reads` of exactly one state")

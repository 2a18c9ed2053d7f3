"""Every rule, in one table.

Most of them are here because a generator of classes that meets the thing says nothing and does something else; each says what. The first is about
form and speaks only where no other rule does, since every other one knows better what to do.
"""

from __future__ import annotations

from collections.abc import Mapping

from a2a_gen.ir.model import Contract
from a2a_gen.lint import keywords, members
from a2a_gen.lint import keywords as form
from a2a_gen.lint.rule import Rule, Subject
from a2a_gen.problems import Level, Problem
from a2a_gen.source import references
from a2a_gen.source.documents import Document

FORM = Rule(
    "A2A-L01",
    "form",
    Level.ERROR,
    lambda subject: form.form(subject.documents),
    "A table or schema that is not of its form would be read as if the odd part were not there.",
    "write it as its schema in meta/ says, which describes every key",
)

RULES: tuple[Rule, ...] = (
    FORM,
    Rule(
        "A2A-L02",
        "not-representable",
        Level.ERROR,
        keywords.not_representable,
        "No class can say this; a model would take what the schema refuses.",
        "say it in the description, and check it in code",
    ),
    Rule(
        "A2A-L03",
        "boolean-schema",
        Level.ERROR,
        keywords.boolean_schema,
        "A member that must not be there is simply ignored by a model.",
        "delete it; for any JSON value write {} with a description",
    ),
    Rule(
        "A2A-L04",
        "look-around",
        Level.WARNING,
        keywords.look_around,
        "Such a pattern switches a whole class to the slow engine, which a hostile text can stall.",
        "write the pattern without (?=, (?!, (?<= and (?<!, or check it in code",
    ),
    Rule(
        "A2A-L05",
        "enum-without-type",
        Level.ERROR,
        keywords.enum_without_type,
        "Without its type an enumeration becomes a class whose values are not strings.",
        'add "type": "string"',
    ),
    Rule(
        "A2A-L06",
        "without-name",
        Level.ERROR,
        keywords.without_name,
        "A class that has no name is numbered, and the number changes with its neighbours.",
        "move it to $defs under a name, and refer to it",
    ),
    Rule(
        "A2A-L07",
        "union",
        Level.ERROR,
        members.union,
        "A reader would take the first branch that fits, and drop what only the right one has.",
        "give each branch a required const on one property, or a required member that no other branch has",
    ),
    Rule(
        "A2A-L08",
        "description",
        Level.ERROR,
        keywords.description,
        "Descriptions become the documentation of modules and classes.",
        "add a description: one short sentence that says what the name does not",
    ),
    Rule(
        "A2A-L09",
        "closed-object",
        Level.ERROR,
        keywords.closed_object,
        "The protocol grows: a reader must ignore members that it does not know, and a class cannot give them a type.",
        "delete it; to keep unknown members, as metadata do, write true",
    ),
    Rule(
        "A2A-L10",
        "title",
        Level.ERROR,
        keywords.title,
        "A title that equals a type's name up to capitals makes an empty class of that name and renames the type.",
        "delete it: the key under $defs is the name, the description says the rest",
    ),
    Rule(
        "A2A-L11",
        "file-cycle",
        Level.ERROR,
        lambda subject: references.cycles(subject.documents),
        "Python modules cannot import each other in a circle, so all their classes would move to one hidden module.",
        "move the types that need each other into one file",
    ),
    Rule(
        "A2A-L12",
        "remote-reference",
        Level.ERROR,
        lambda subject: references.remote(subject.documents),
        "A build uses no network: what it makes depends on nothing but the contract.",
        "copy the type into the contract",
    ),
    Rule(
        "A2A-L13",
        "proto-missing",
        Level.ERROR,
        members.proto_missing,
        "A dialect that numbers its members is also spoken as protocol buffers, where a member without a number cannot travel.",
        'add "x-proto": {"number": n}, or on an enumeration {"values": {"WORD": n}}',
    ),
    Rule(
        "A2A-L14",
        "proto-twice",
        Level.ERROR,
        members.proto_twice,
        "Two members of one number are the same bytes.",
        "give one of them the number that the protocol says",
    ),
    Rule(
        "A2A-L15",
        "presence",
        Level.ERROR,
        members.presence,
        "Presence in a oneOf would become a numbered class for each branch, and two members at once would pass.",
        'write "oneOf": [{"required": ["member"]}, …] and "x-a2a-oneof": "group" beside properties that have these members',
    ),
    Rule(
        "A2A-L16",
        "read",
        Level.ERROR,
        members.read,
        "Only a required member can be missing.",
        "delete it from x-a2a-read, or add it to required",
    ),
    Rule(
        "A2A-L17",
        "required",
        Level.ERROR,
        members.required,
        "A required member without a property cannot be written, so no document would fit.",
        "correct the name, or add the property",
    ),
    Rule(
        "A2A-L18",
        "enum-names",
        Level.ERROR,
        members.enum_names,
        "Names are matched with values by their order.",
        "write exactly one name for each value",
    ),
    Rule(
        "A2A-L19",
        "aliases",
        Level.ERROR,
        members.aliases,
        "A spelling that means two members would be read as only one of them.",
        "delete the older spelling from one of the two",
    ),
    Rule(
        "A2A-L20",
        "format",
        Level.WARNING,
        keywords.unknown_format,
        "Models do not check it, and other readers of the schema might; byte decodes to text and loses data, uri changes the address.",
        "delete it; for bytes write contentEncoding base64",
    ),
    Rule(
        "A2A-L21",
        "default",
        Level.ERROR,
        keywords.default,
        "A default is a remark in JSON Schema, but an absent member must stay absent on the wire.",
        "say in the description what a missing member means, or in x-a2a-read what a reader puts in its place",
    ),
    Rule(
        "A2A-L22",
        "constant",
        Level.ERROR,
        keywords.constant,
        "Constants tell types apart; other values cannot be literal types in Python.",
        "use a string or an integer",
    ),
    Rule(
        "A2A-L23",
        "beside-reference",
        Level.ERROR,
        keywords.beside_reference,
        "What stands beside a reference would be lost: a member has the type that it refers to.",
        "move the condition to the type, or make a type of its own",
    ),
    Rule(
        "A2A-L24",
        "branch",
        Level.ERROR,
        members.branch,
        "A union of named and unnamed types has no name for some of its values.",
        "give every branch a name under $defs",
    ),
)


def check(contract: Contract, documents: Mapping[str, Document]) -> tuple[Problem, ...]:
    """Apply every rule."""
    subject = Subject(contract, documents)
    better = [problem for rule in RULES if rule is not FORM for problem in rule.problems(subject)]
    spoken = {(problem.place.file, problem.place.pointer) for problem in better}
    of_form = [problem for problem in FORM.problems(subject) if not _is_explained(problem, spoken)]
    return tuple(sorted((*of_form, *better)))


def _is_explained(problem: Problem, spoken: set[tuple[str, str]]) -> bool:
    """Whether another rule says more: at the same place, or below one of which only is known that nothing fits."""
    file, pointer = problem.place.file, problem.place.pointer
    if problem.text == form.NO_FORM_FITS:
        return any(other == file and f"{place}/".startswith(f"{pointer}/") for other, place in spoken)
    return (file, pointer) in spoken

"""Every rule, in one table.

Most of them are here because a generator of classes that meets the thing says nothing and does something else; each says what. The first is about
form and speaks only where no other rule does, since every other one knows better what to do.
"""

from __future__ import annotations

from collections.abc import Mapping

from a2a_gen.ir.model import Contract
from a2a_gen.lint import keywords, members
from a2a_gen.lint import keywords as form
from a2a_gen.lint.rule import LintContext, LintRule
from a2a_gen.problems import Level, Problem
from a2a_gen.source import references
from a2a_gen.source.documents import Document

FORM = LintRule(
    "A2A-L01",
    "form",
    Level.ERROR,
    lambda subject: form.find_form_violations(subject.documents),
    "A table or schema that is not of its form would be read as if the odd part were not there.",
    "write it as its schema in meta/ says, which describes every key",
)

RULES: tuple[LintRule, ...] = (
    FORM,
    LintRule(
        "A2A-L02",
        "not-representable",
        Level.ERROR,
        keywords.find_unrepresentable_keywords,
        "No class can say this; a model would take what the schema refuses.",
        "say it in the description, and check it in code",
    ),
    LintRule(
        "A2A-L03",
        "boolean-schema",
        Level.ERROR,
        keywords.find_boolean_schemas,
        "A member that must not be there is simply ignored by a model.",
        "delete it; for any JSON value write {} with a description",
    ),
    LintRule(
        "A2A-L04",
        "look-around",
        Level.WARNING,
        keywords.find_look_arounds,
        "Such a pattern switches a whole class to the slow engine, which a hostile text can stall.",
        "write the pattern without (?=, (?!, (?<= and (?<!, or check it in code",
    ),
    LintRule(
        "A2A-L05",
        "enum-without-type",
        Level.ERROR,
        keywords.find_untyped_enums,
        "Without its type an enumeration becomes a class whose values are not strings.",
        'add "type": "string"',
    ),
    LintRule(
        "A2A-L06",
        "without-name",
        Level.ERROR,
        keywords.find_unnamed_types,
        "A class that has no name is numbered, and the number changes with its neighbours.",
        "move it to $defs under a name, and refer to it",
    ),
    LintRule(
        "A2A-L07",
        "union",
        Level.ERROR,
        members.find_ambiguous_unions,
        "A reader would take the first branch that fits, and drop what only the right one has.",
        "give each branch a required const on one property, or a required member that no other branch has",
    ),
    LintRule(
        "A2A-L08",
        "description",
        Level.ERROR,
        keywords.find_missing_descriptions,
        "Descriptions become the documentation of modules and classes.",
        "add a description: one short sentence that says what the name does not",
    ),
    LintRule(
        "A2A-L09",
        "closed-object",
        Level.ERROR,
        keywords.find_closed_objects,
        "The protocol grows: a reader must ignore members that it does not know, and a class cannot give them a type.",
        "delete it; to keep unknown members, as metadata do, write true",
    ),
    LintRule(
        "A2A-L10",
        "title",
        Level.ERROR,
        keywords.find_titles,
        "A title that equals a type's name up to capitals makes an empty class of that name and renames the type.",
        "delete it: the key under $defs is the name, the description says the rest",
    ),
    LintRule(
        "A2A-L11",
        "file-cycle",
        Level.ERROR,
        lambda subject: references.find_file_cycles(subject.documents),
        "Python modules cannot import each other in a circle, so all their classes would move to one hidden module.",
        "move the types that need each other into one file",
    ),
    LintRule(
        "A2A-L12",
        "remote-reference",
        Level.ERROR,
        lambda subject: references.find_remote_references(subject.documents),
        "A build uses no network: what it makes depends on nothing but the contract.",
        "copy the type into the contract",
    ),
    LintRule(
        "A2A-L13",
        "proto-missing",
        Level.ERROR,
        members.find_missing_proto_numbers,
        "A dialect that numbers its members is also spoken as protocol buffers, where a member without a number cannot travel.",
        'add "x-proto": {"number": n}, or on an enumeration {"values": {"WORD": n}}',
    ),
    LintRule(
        "A2A-L14",
        "proto-twice",
        Level.ERROR,
        members.find_duplicate_proto_numbers,
        "Two members of one number are the same bytes.",
        "give one of them the number that the protocol says",
    ),
    LintRule(
        "A2A-L15",
        "presence",
        Level.ERROR,
        members.find_presence_violations,
        "Presence in a oneOf would become a numbered class for each branch, and two members at once would pass.",
        'write "oneOf": [{"required": ["member"]}, …] and "x-a2a-oneof": "group" beside properties that have these members',
    ),
    LintRule(
        "A2A-L16",
        "read",
        Level.ERROR,
        members.find_needless_read_defaults,
        "Only a required member can be missing.",
        "delete it from x-a2a-read, or add it to required",
    ),
    LintRule(
        "A2A-L17",
        "required",
        Level.ERROR,
        members.find_unknown_required_members,
        "A required member without a property cannot be written, so no document would fit.",
        "correct the name, or add the property",
    ),
    LintRule(
        "A2A-L18",
        "enum-names",
        Level.ERROR,
        members.find_enum_name_mismatches,
        "Names are matched with values by their order.",
        "write exactly one name for each value",
    ),
    LintRule(
        "A2A-L19",
        "aliases",
        Level.ERROR,
        members.find_ambiguous_aliases,
        "A spelling that means two members would be read as only one of them.",
        "delete the older spelling from one of the two",
    ),
    LintRule(
        "A2A-L20",
        "format",
        Level.WARNING,
        keywords.find_unknown_formats,
        "Models do not check it, and other readers of the schema might; byte decodes to text and loses data, uri changes the address.",
        "delete it; for bytes write contentEncoding base64",
    ),
    LintRule(
        "A2A-L21",
        "default",
        Level.ERROR,
        keywords.find_defaults,
        "A default is a remark in JSON Schema, but an absent member must stay absent on the wire.",
        "say in the description what a missing member means, or in x-a2a-read what a reader puts in its place",
    ),
    LintRule(
        "A2A-L22",
        "constant",
        Level.ERROR,
        keywords.find_invalid_constants,
        "Constants tell types apart; other values cannot be literal types in Python.",
        "use a string or an integer",
    ),
    LintRule(
        "A2A-L23",
        "beside-reference",
        Level.ERROR,
        keywords.find_keywords_beside_references,
        "What stands beside a reference would be lost: a member has the type that it refers to.",
        "move the condition to the type, or make a type of its own",
    ),
    LintRule(
        "A2A-L24",
        "branch",
        Level.ERROR,
        members.find_mixed_unions,
        "A union of named and unnamed types has no name for some of its values.",
        "give every branch a name under $defs",
    ),
)


def run_rules(contract: Contract, documents: Mapping[str, Document]) -> tuple[Problem, ...]:
    """Apply every rule."""
    subject = LintContext(contract, documents)
    better = [problem for rule in RULES if rule is not FORM for problem in rule.find_problems(subject)]
    spoken = {(problem.place.file, problem.place.pointer) for problem in better}
    of_form = [problem for problem in FORM.find_problems(subject) if not _is_explained(problem, spoken)]
    return tuple(sorted((*of_form, *better)))


def _is_explained(problem: Problem, spoken: set[tuple[str, str]]) -> bool:
    """Whether another rule says more: at the same place, or below one of which only is known that nothing fits."""
    file, pointer = problem.place.file, problem.place.pointer
    if problem.text == form.NO_MATCHING_SCHEMA:
        return any(other == file and f"{place}/".startswith(f"{pointer}/") for other, place in spoken)
    return (file, pointer) in spoken

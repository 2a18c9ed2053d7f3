"""All lint rules, in one table.

Most rules cover constructs that class generators accept and silently change; ``why`` states the
change. The first rule validates files against their meta-schema, and is silent where a more
specific rule applies.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from a2a_gen.ir.model import Contract
from a2a_gen.lint import keywords, members
from a2a_gen.lint.rule import LintContext, LintRule
from a2a_gen.problems import Level, Problem
from a2a_gen.source import references
from a2a_gen.source.documents import Document

FORM = LintRule(
    "A2A-L01",
    "form",
    Level.ERROR,
    lambda context: keywords.find_form_violations(context.documents),
    "A table or schema that violates its meta-schema would be read without the invalid part.",
    "follow its schema in meta/, which describes every key",
)

RULES: tuple[LintRule, ...] = (
    FORM,
    LintRule(
        "A2A-L02",
        "not-representable",
        Level.ERROR,
        keywords.find_unrepresentable_keywords,
        "A class cannot express this, so a model would accept documents that the schema rejects.",
        "state it in the description, and check it in code",
    ),
    LintRule(
        "A2A-L03",
        "boolean-schema",
        Level.ERROR,
        keywords.find_boolean_schemas,
        "A model ignores a member that the schema forbids.",
        "delete it; for any JSON value write {} with a description",
    ),
    LintRule(
        "A2A-L04",
        "look-around",
        Level.WARNING,
        keywords.find_look_arounds,
        (
            "Look-around switches a whole class to the slow regular expression engine, which "
            "hostile input can stall."
        ),
        "write the pattern without (?=, (?!, (?<= and (?<!, or check it in code",
    ),
    LintRule(
        "A2A-L05",
        "enum-without-type",
        Level.ERROR,
        keywords.find_untyped_enums,
        "Without a type an enumeration becomes a class whose values are not strings.",
        'add "type": "string"',
    ),
    LintRule(
        "A2A-L06",
        "without-name",
        Level.ERROR,
        keywords.find_unnamed_types,
        "An unnamed class gets a number, which changes with its neighbours.",
        "move it to $defs under a name, and refer to it",
    ),
    LintRule(
        "A2A-L07",
        "union",
        Level.ERROR,
        members.find_ambiguous_unions,
        (
            "A reader would use the first branch that matches, and drop members that only the "
            "right one has."
        ),
        (
            "give each branch a required const on one property, or a required member that no "
            "other branch has"
        ),
    ),
    LintRule(
        "A2A-L08",
        "description",
        Level.ERROR,
        keywords.find_missing_descriptions,
        "Descriptions become the docstrings of modules and classes.",
        "add a description: one short sentence that adds to the name",
    ),
    LintRule(
        "A2A-L09",
        "closed-object",
        Level.ERROR,
        keywords.find_closed_objects,
        (
            "The protocol grows: a reader must ignore unknown members, and a class cannot give "
            "them a type."
        ),
        "delete it; to keep unknown members, as metadata does, write true",
    ),
    LintRule(
        "A2A-L10",
        "title",
        Level.ERROR,
        keywords.find_titles,
        (
            "A title that equals the name of a type except for case creates an empty class of "
            "that name and renames the type."
        ),
        "delete it: the key under $defs is the name, and the description has the rest",
    ),
    LintRule(
        "A2A-L11",
        "file-cycle",
        Level.ERROR,
        lambda context: references.find_file_cycles(context.documents),
        (
            "Python modules cannot import each other in a cycle, so all their classes would move "
            "to one hidden module."
        ),
        "move the types that refer to each other into one file",
    ),
    LintRule(
        "A2A-L12",
        "remote-reference",
        Level.ERROR,
        lambda context: references.find_remote_references(context.documents),
        "A build uses no network: its output depends only on the contract.",
        "copy the type into the contract",
    ),
    LintRule(
        "A2A-L13",
        "proto-missing",
        Level.ERROR,
        members.find_missing_proto_numbers,
        (
            "A dialect with numbered members is also sent as protocol buffers, which cannot "
            "carry a member without a number."
        ),
        'add "x-proto": {"number": n}, or on an enumeration {"values": {"WORD": n}}',
    ),
    LintRule(
        "A2A-L14",
        "proto-twice",
        Level.ERROR,
        members.find_duplicate_proto_numbers,
        "Two members with one number are the same bytes.",
        "give one of them the number that the protocol defines",
    ),
    LintRule(
        "A2A-L15",
        "presence",
        Level.ERROR,
        members.find_presence_violations,
        (
            "A oneOf of required members would become a numbered class for each branch, and two "
            "members at once would be accepted."
        ),
        (
            'write "oneOf": [{"required": ["member"]}, …] and "x-a2a-oneof": "group" beside '
            "properties that have these members"
        ),
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
        "A required member without a property cannot be serialized, so no document would be valid.",
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
        "An alias of two members would be read as only one of them.",
        "delete the alias from one of the two",
    ),
    LintRule(
        "A2A-L20",
        "format",
        Level.WARNING,
        keywords.find_unknown_formats,
        (
            "Models do not check it, but other readers of the schema might; byte decodes to text "
            "and loses data, uri changes the URL."
        ),
        "delete it; for bytes write contentEncoding base64",
    ),
    LintRule(
        "A2A-L21",
        "default",
        Level.ERROR,
        keywords.find_defaults,
        (
            "A default is an annotation in JSON Schema, but an absent member must stay absent on "
            "the wire."
        ),
        (
            "state the meaning of a missing member in the description, or give readers a default "
            "in x-a2a-read"
        ),
    ),
    LintRule(
        "A2A-L22",
        "constant",
        Level.ERROR,
        keywords.find_invalid_constants,
        "Constants distinguish types; other values cannot be literal types in Python.",
        "use a string or an integer",
    ),
    LintRule(
        "A2A-L23",
        "beside-reference",
        Level.ERROR,
        keywords.find_keywords_beside_references,
        "Keywords beside a reference would be lost: a member has the type that it refers to.",
        "move the keyword to the type, or define a separate type",
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
    context = LintContext(contract, documents)
    others = (rule for rule in RULES if rule is not FORM)
    problems = list(chain.from_iterable(rule.find_problems(context) for rule in others))
    reported = {(problem.place.file, problem.place.pointer) for problem in problems}
    form_problems = [
        problem for problem in FORM.find_problems(context) if not _is_explained(problem, reported)
    ]
    return tuple(sorted((*form_problems, *problems)))


def _is_explained(problem: Problem, reported: set[tuple[str, str]]) -> bool:
    """Return true if another rule reports the same place, or a place below one where no alternative
    is valid.
    """
    file = problem.place.file
    pointer = problem.place.pointer
    if problem.text == keywords.NO_MATCHING_SCHEMA:
        return any(
            other == file and f"{place}/".startswith(f"{pointer}/") for other, place in reported
        )
    return (file, pointer) in reported

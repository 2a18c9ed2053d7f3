"""A complete check: reads both sides, compares with every baseline, and removes accepted
changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from a2a_gen.diff.finding import merge_findings
from a2a_gen.diff.ignore import apply_ignore_entries, read_ignore_file, read_inline_entries
from a2a_gen.diff.report import CompareOptions, Report, compare, sort_findings
from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.diff.sides import ContractSide, RevisionFolder, read_baseline, read_path
from a2a_gen.problems import ContractError, Problem, ProjectError
from a2a_gen.source.references import iter_schemas

TRANSITIVE_SUFFIX = "_TRANSITIVE"


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """The revision, its baselines and the options; an empty ``profile`` selects the default for the
    kind of contract.
    """

    baselines: Sequence[str]
    revision: Path
    is_plain: bool = False
    profile: str = ""
    options: CompareOptions = field(default_factory=CompareOptions)
    ignore_file: Path | None = None


@dataclass(frozen=True, slots=True)
class CompareOutcome:
    """The report without ignored findings, and notes about the ignore file and the baselines."""

    report: Report
    notes: tuple[str, ...]


def check_compatibility(request: CompareRequest) -> CompareOutcome:
    """Compare the revision with its baselines; only a transitive profile compares with every tag of
    a pattern.
    """
    new = read_path(request.revision, is_plain=request.is_plain)
    _refuse_unusable(new)
    profile = request.profile.removesuffix(TRANSITIVE_SUFFIX)
    is_transitive = request.profile.endswith(TRANSITIVE_SUFFIX)
    options = replace(request.options, profile=profile or ("FULL" if new.is_contract else "WIRE"))
    path = request.revision
    if path.is_file():
        folder = RevisionFolder(path.parent, request.is_plain, path.name)
    else:
        folder = RevisionFolder(path, request.is_plain)
    reports: list[Report] = []
    notes = [*_list_foreign_keywords(new)]
    for baseline in request.baselines:
        sides = read_baseline(baseline, folder)
        for old in sides if is_transitive else sides[-1:]:
            _refuse_different_kinds(old, new)
            if not old.documents:
                notes.append(
                    f"{old.label}: no files at {folder.folder.name or '.'}; everything is new"
                )
            reports.append(replace(compare(old, new, options), baseline=old.label))
    return _apply_ignore_entries(_merge_reports(reports), new, request.ignore_file, notes)


def _list_foreign_keywords(side: ContractSide) -> Iterator[str]:
    """Note the first place of a keyword that its author may expect to have an effect."""
    for path, document in side.tree.documents.items():
        pointer = next(
            (
                schema.pointer
                for schema in iter_schemas(document.data)
                if schema.members.get("nullable") is True
            ),
            None,
        )
        if pointer is not None:
            yield (
                f"{side.tree.place_at((path, pointer))}: nullable has no effect in JSON Schema; "
                'write "type": [..., "null"]'
            )


def compare_sides(
    old: ContractSide, new: ContractSide, options: CompareOptions, ignore_file: Path
) -> CompareOutcome:
    """Compare two sides that are already loaded, such as a remote agent before and after."""
    return _apply_ignore_entries(
        replace(compare(old, new, options), baseline=old.label), new, ignore_file, []
    )


def _merge_reports(reports: Sequence[Report]) -> Report:
    """Merge reports; a change found against several baselines is reported once."""
    findings = merge_findings(chain.from_iterable(report.findings for report in reports))
    count = max((report.compared_count for report in reports), default=0)
    return Report(sort_findings(findings), count, ", ".join(report.baseline for report in reports))


def _apply_ignore_entries(
    report: Report, new: ContractSide, file: Path | None, notes: list[str]
) -> CompareOutcome:
    entries = (*(read_ignore_file(file) if file else ()), *read_inline_entries(new))
    remaining, more_notes = apply_ignore_entries(entries, report.findings)
    return CompareOutcome(replace(report, findings=remaining), (*notes, *more_notes))


def _refuse_unusable(new: ContractSide) -> None:
    problems = [
        Problem(
            place,
            "A2A-R02",
            f"{text}: reference target does not exist",
            "correct the reference, or add its target",
        )
        for place, text in new.tree.find_dangling_references()
    ]
    if problems:
        raise ContractError(problems)
    if not new.documents:
        raise ProjectError(f"{new.label}: no schemas found", "name the folder that contains them")


def _refuse_different_kinds(old: ContractSide, new: ContractSide) -> None:
    if old.documents and (old.agent is None) != (new.agent is None):
        raise ProjectError(
            f"{old.label} is {_name_kind(old)} and {new.label} is {_name_kind(new)}",
            "compare two sides of one kind, or only their schemas with --plain",
        )


def _name_kind(side: ContractSide) -> str:
    if side.agent:
        return "an agent"
    if side.is_contract:
        return "a contract"
    return "a folder of schemas"


def should_fail(report: Report, fail_on: str) -> bool:
    """Return true if a finding reaches the ``--fail-on`` level."""
    levels = {str(level): level for level in ChangeLevel if level is not ChangeLevel.NONE}
    return fail_on in levels and bool(report.findings_at_least(levels[fail_on]))

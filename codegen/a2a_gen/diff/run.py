"""A complete check: reads both sides, compares with every baseline, and applies the ignore file.

``a2a-gen.ignore.toml`` lists accepted changes, each with a reason and an optional expiry date:

    [[ignore]]
    rule = "A2A051"                        code or id of a rule
    path = "schema/v1_0/task.json#/$defs/TaskState"    the location and everything below it
    fingerprint = "3f2a9c01d4be"           one change only; survives moved lines and reworded messages
    reason = "clients were told in May"    required
    until = 2027-01-01                     the finding is reported again afterwards

An entry needs a rule and a path, or a fingerprint. Expired entries and entries without a finding are reported.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.report import CompareOptions, Report, compare, sort_findings
from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.diff.rules.table import TABLE
from a2a_gen.diff.sides import ContractSide, RevisionFolder, read_baseline, read_path
from a2a_gen.problems import ContractError, Problem, ProjectError
from a2a_gen.support.json_types import is_json_array, is_json_object

IGNORE_FILE = "a2a-gen.ignore.toml"
TRANSITIVE_SUFFIX = "_TRANSITIVE"
_KEYS = frozenset({"rule", "path", "fingerprint", "reason", "until"})
_CURE = 'write [[ignore]] with rule = "…", path = "…" or fingerprint = "…", and reason = "…"'


@dataclass(frozen=True, slots=True)
class IgnoreEntry:
    """One accepted change."""

    rule: str
    path: str
    fingerprint: str
    reason: str
    until: date | None

    def is_match(self, finding: Finding) -> bool:
        """Return true if the entry covers a finding."""
        if self.fingerprint:
            return self.fingerprint == finding.fingerprint
        place = f"{finding.new.file}#{finding.new.pointer}"
        return self.rule in {finding.rule.code, finding.rule.id} and (place == self.path or place.startswith((f"{self.path}/", f"{self.path}#")))

    @property
    def is_expired(self) -> bool:
        """True if the expiry date has passed."""
        return self.until is not None and self.until < datetime.now(UTC).date()

    def __str__(self) -> str:
        return " ".join(filter(None, (self.rule, self.path, self.fingerprint)))


def read_ignore_file(file: Path) -> tuple[IgnoreEntry, ...]:
    """Read the ignore file; a missing file has no entries."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProjectError(f"{file.name}: cannot be read: {error}", "correct the syntax, or delete the file") from error
    rows = table.get("ignore")
    listed: list[object] = [*rows] if is_json_array(rows) else []
    if set(table) - {"ignore"} or (rows is not None and not is_json_array(rows)):
        raise ProjectError(f"{file.name}: unknown keys beside [[ignore]]", _CURE)
    return tuple(_parse_entry(file, index, row) for index, row in enumerate(listed, 1))


def _parse_entry(file: Path, index: int, row: object) -> IgnoreEntry:
    where = f"{file.name}: entry {index}"
    if not is_json_object(row) or row.keys() - _KEYS:
        raise ProjectError(f"{where}: unknown keys", _CURE)
    fields = {key: value for key in ("rule", "path", "fingerprint", "reason") if isinstance(value := row.get(key, ""), str)}
    if len(fields) < 4:  # noqa: PLR2004 - all of the above
        raise ProjectError(f"{where}: rule, path, fingerprint and reason must be strings", _CURE)
    if not fields["reason"].strip():
        raise ProjectError(f"{where}: reason is missing", "state why the change is accepted")
    if not fields["fingerprint"] and not (fields["rule"] and fields["path"]):
        raise ProjectError(f"{where}: neither a fingerprint nor a rule with a path", _CURE)
    known_rules = {name for rule in TABLE.values() for name in (rule.code, rule.id)}
    if fields["rule"] and fields["rule"] not in known_rules:
        raise ProjectError(f"{where}: rule {fields['rule']!r} does not exist", "use a code or id of docs/rules.md")
    return IgnoreEntry(fields["rule"], fields["path"], fields["fingerprint"], fields["reason"], _parse_day(where, row.get("until")))


def _parse_day(where: str, until: object) -> date | None:
    if until is None or (isinstance(until, date) and not isinstance(until, datetime)):
        return until
    try:
        return date.fromisoformat(str(until))
    except ValueError:
        raise ProjectError(f"{where}: until is not a date", "write it as 2027-01-01") from None


def apply_ignore_entries(entries: Sequence[IgnoreEntry], findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Remove ignored findings; return notes about entries that are expired or unused."""
    used_entries: set[IgnoreEntry] = set()
    remaining: list[Finding] = []
    for finding in findings:
        matching = [entry for entry in entries if entry.is_match(finding)]
        used_entries.update(matching)
        if all(entry.is_expired for entry in matching):
            remaining.append(finding)
    notes = [f"{IGNORE_FILE}: {entry} expired on {entry.until}; renew or delete it" for entry in entries if entry.is_expired]
    notes += [f"{IGNORE_FILE}: {entry} matches no finding; delete it" for entry in entries if entry not in used_entries and not entry.is_expired]
    return tuple(remaining), tuple(notes)


def render_ignore_entries(findings: Iterable[Finding]) -> str:
    """Write ignore entries for findings, with empty reasons."""
    return "".join(
        f"\n[[ignore]]\nrule = {json.dumps(each.rule.code)}\npath = {_quote(f'{each.new.file}#{each.new.pointer}')}\n"
        f'fingerprint = "{each.fingerprint}"\nreason = ""  # {" ".join(each.text.split())}\n'
        for each in findings
    )


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=True).replace("\x7f", "\\u007f")


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """The revision, its baselines and the options; an empty ``profile`` selects the default for the kind of contract."""

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
    """Compare the revision with its baselines; only a transitive profile compares with every tag of a pattern."""
    new = read_path(request.revision, is_plain=request.is_plain)
    _refuse_unusable(new)
    profile = request.profile.removesuffix(TRANSITIVE_SUFFIX)
    is_transitive = request.profile.endswith(TRANSITIVE_SUFFIX)
    options = replace(request.options, profile=profile or ("FULL" if new.is_contract else "WIRE"))
    folder = RevisionFolder(request.revision if request.revision.is_dir() else request.revision.parent, request.is_plain)
    reports: list[Report] = []
    notes: list[str] = []
    for baseline in request.baselines:
        sides = read_baseline(baseline, folder)
        for old in sides if is_transitive else sides[-1:]:
            _refuse_different_kinds(old, new)
            if not old.documents:
                notes.append(f"{old.label}: no files at {folder.folder.name or '.'}; everything is new")
            reports.append(replace(compare(old, new, options), baseline=old.label))
    return _apply_ignore_file(_merge_reports(reports), request.ignore_file, notes)


def compare_sides(old: ContractSide, new: ContractSide, options: CompareOptions, ignore_file: Path) -> CompareOutcome:
    """Compare two sides that are already loaded, such as a remote agent before and after."""
    return _apply_ignore_file(replace(compare(old, new, options), baseline=old.label), ignore_file, [])


def _merge_reports(reports: Sequence[Report]) -> Report:
    """Merge reports; a change found against several baselines is reported once."""
    findings = {finding.fingerprint: finding for report in reversed(reports) for finding in report.findings}
    count = max((report.compared_count for report in reports), default=0)
    return Report(sort_findings(findings.values()), count, ", ".join(report.baseline for report in reports))


def _apply_ignore_file(report: Report, file: Path | None, notes: list[str]) -> CompareOutcome:
    if file is None:
        return CompareOutcome(report, tuple(notes))
    remaining, more_notes = apply_ignore_entries(read_ignore_file(file), report.findings)
    return CompareOutcome(replace(report, findings=remaining), (*notes, *more_notes))


def _refuse_unusable(new: ContractSide) -> None:
    problems = [
        Problem(place, "A2A-R02", f"{text}: reference target does not exist", "correct the reference, or add its target")
        for place, text in new.tree.find_dangling_references()
    ]
    if problems:
        raise ContractError(problems)
    if not new.documents:
        raise ProjectError(f"{new.label}: no schemas found", "name the folder that contains them")


def _refuse_different_kinds(old: ContractSide, new: ContractSide) -> None:
    if old.documents and (old.agent is None) != (new.agent is None):
        kinds = ["an agent" if side.agent else "a contract" if side.is_contract else "a folder of schemas" for side in (old, new)]
        raise ProjectError(
            f"{old.label} is {kinds[0]} and {new.label} is {kinds[1]}", "compare two sides of one kind, or only their schemas with --plain"
        )


def should_fail(report: Report, fail_on: str) -> bool:
    """Return true if a finding reaches the ``--fail-on`` level."""
    levels = {str(level): level for level in ChangeLevel if level is not ChangeLevel.NONE}
    return fail_on in levels and bool(report.findings_at_least(levels[fail_on]))

"""A whole run: both sides read, compared with every baseline, and approvals applied. What commands do beside this is only talking."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.report import CompareOptions, Report, compare
from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.diff.rules.table import TABLE
from a2a_gen.diff.sides import ContractSide, RevisionFolder, read_baseline, read_path
from a2a_gen.problems import ContractError, Problem, ProjectError
from a2a_gen.support.json_types import is_json_array, is_json_object

# ``a2a-gen.ignore.toml``: changes that somebody has looked at and wants, each with the reason and, if it is not for ever, a last day.
#
#     [[ignore]]
#     rule = "A2A051"                        the code or the id of a rule
#     path = "schema/v1_0/task.json#/$defs/TaskState"    where, with everything below it
#     fingerprint = "3f2a9c01d4be"           this change only; survives moved lines and other words
#     reason = "clients were told in May"    must be there
#     until = 2027-01-01                     afterwards it counts again
#
# An entry needs a rule and a path, or a fingerprint. One that fits nothing, and one whose day is over, are reported.
#

IGNORE_FILE = "a2a-gen.ignore.toml"
_KEYS = frozenset({"rule", "path", "fingerprint", "reason", "until"})
_CURE = 'write [[ignore]] with rule = "…", path = "…" or fingerprint = "…", and reason = "…"'


@dataclass(frozen=True, slots=True)
class IgnoreEntry:
    """One approval."""

    rule: str
    path: str
    fingerprint: str
    reason: str
    until: date | None

    def is_match(self, finding: Finding) -> bool:
        """Tell whether an approval is about a finding."""
        if self.fingerprint:
            return self.fingerprint == finding.fingerprint
        place = f"{finding.new.file}#{finding.new.pointer}"
        return self.rule in {finding.rule.code, finding.rule.id} and (place == self.path or place.startswith((f"{self.path}/", f"{self.path}#")))

    @property
    def is_expired(self) -> bool:
        """Whether its last day has passed."""
        return self.until is not None and self.until < datetime.now(UTC).date()

    def __str__(self) -> str:
        return " ".join(filter(None, (self.rule, self.path, self.fingerprint)))


def read_ignore_file(file: Path) -> tuple[IgnoreEntry, ...]:
    """Read the file; none when it is not there."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProjectError(f"{file.name} cannot be read: {error}", "correct the text, or delete the file") from error
    rows = table.get("ignore")
    listed: list[object] = [*rows] if is_json_array(rows) else []
    if set(table) - {"ignore"} or (rows is not None and not is_json_array(rows)):
        raise ProjectError(f"{file.name} has keys beside [[ignore]]", _CURE)
    return tuple(_parse_entry(file, index, row) for index, row in enumerate(listed, 1))


def _parse_entry(file: Path, index: int, row: object) -> IgnoreEntry:
    where = f"{file.name}: entry {index}"
    if not is_json_object(row) or row.keys() - _KEYS:
        raise ProjectError(f"{where} has keys that mean nothing here", _CURE)
    words = {key: word for key in ("rule", "path", "fingerprint", "reason") if isinstance(word := row.get(key, ""), str)}
    if len(words) < 4:  # noqa: PLR2004 - all of the above
        raise ProjectError(f"{where}: rule, path, fingerprint and reason are texts", _CURE)
    if not words["reason"].strip():
        raise ProjectError(f"{where} has no reason", "say why the change is wanted, for whoever reads this in a year")
    if not words["fingerprint"] and not (words["rule"] and words["path"]):
        raise ProjectError(f"{where} does not say which change it means", _CURE)
    known = {name for rule in TABLE.values() for name in (rule.code, rule.id)}
    if words["rule"] and words["rule"] not in known:
        raise ProjectError(f"{where}: there is no rule {words['rule']}", "docs/rules.md lists them all")
    return IgnoreEntry(words["rule"], words["path"], words["fingerprint"], words["reason"], _parse_day(where, row.get("until")))


def _parse_day(where: str, until: object) -> date | None:
    if until is None or (isinstance(until, date) and not isinstance(until, datetime)):
        return until
    try:
        return date.fromisoformat(str(until))
    except ValueError:
        raise ProjectError(f"{where}: until is no day", "write it as 2027-01-01") from None


def apply_ignore_entries(entries: Sequence[IgnoreEntry], findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Leave out what is approved; say which approvals are over or fit nothing."""
    used: set[IgnoreEntry] = set()
    left: list[Finding] = []
    for finding in findings:
        fitting = [entry for entry in entries if entry.is_match(finding)]
        used.update(fitting)
        if all(entry.is_expired for entry in fitting):
            left.append(finding)
    notes = [f"{IGNORE_FILE}: {entry} is over since {entry.until}: decide again" for entry in entries if entry.is_expired]
    notes += [f"{IGNORE_FILE}: {entry} fits no finding: delete it" for entry in entries if entry not in used and not entry.is_expired]
    return tuple(left), tuple(notes)


def render_ignore_entries(findings: Iterable[Finding]) -> str:
    """Write entries for findings, whose reasons somebody has yet to give."""
    return "".join(
        f"\n[[ignore]]\nrule = {json.dumps(each.rule.code)}\npath = {_quote(f'{each.new.file}#{each.new.pointer}')}\n"
        f'fingerprint = "{each.fingerprint}"\nreason = ""  # {" ".join(each.text.split())}\n'
        for each in findings
    )


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=True).replace("\x7f", "\\u007f")


TRANSITIVE_SUFFIX = "_TRANSITIVE"


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """What to compare with what, and for whom; ``profile`` is empty for the usual one of what is compared."""

    baselines: Sequence[str]
    new: Path
    is_plain: bool = False
    profile: str = ""
    options: CompareOptions = field(default_factory=CompareOptions)
    ignore_file: Path | None = None


@dataclass(frozen=True, slots=True)
class CompareOutcome:
    """What came out: the report without what is approved, and what is to say about the approvals and the baselines."""

    report: Report
    notes: tuple[str, ...]


def check_compatibility(request: CompareRequest) -> CompareOutcome:
    """Compare the new side with its baselines; only a transitive profile looks at more than the newest tag of a pattern."""
    new = read_path(request.new, is_plain=request.is_plain)
    _refuse_unusable(new)
    profile = request.profile.removesuffix(TRANSITIVE_SUFFIX)
    every = request.profile.endswith(TRANSITIVE_SUFFIX)
    wish = replace(request.options, profile=profile or ("FULL" if new.is_contract else "WIRE"))
    home = RevisionFolder(request.new if request.new.is_dir() else request.new.parent, request.is_plain)
    reports: list[Report] = []
    notes: list[str] = []
    for word in request.baselines:
        sides = read_baseline(word, home)
        for old in sides if every else sides[-1:]:
            _refuse_different_kinds(old, new)
            if not old.documents:
                notes.append(f"{old.label} has nothing at {home.folder.name or '.'}: everything is new")
            reports.append(replace(compare(old, new, wish), baseline=old.label))
    return _apply_ignore_file(_merge_reports(reports), request.ignore_file, notes)


def compare_sides(old: ContractSide, new: ContractSide, options: CompareOptions, approvals: Path) -> CompareOutcome:
    """Compare two sides that are there already, as an agent that was seen before and after."""
    return _apply_ignore_file(replace(compare(old, new, options), baseline=old.label), approvals, [])


def _merge_reports(reports: Sequence[Report]) -> Report:
    """Put reports together; what was found against one baseline is not told again for the next."""
    findings = {finding.fingerprint: finding for report in reversed(reports) for finding in report.findings}
    ordered = sorted(findings.values(), key=lambda each: (-each.level, each.new, each.rule.code, each.text))
    return Report(tuple(ordered), max((report.compared_count for report in reports), default=0), ", ".join(report.baseline for report in reports))


def _apply_ignore_file(report: Report, file: Path | None, notes: list[str]) -> CompareOutcome:
    if file is None:
        return CompareOutcome(report, tuple(notes))
    left, said = apply_ignore_entries(read_ignore_file(file), report.findings)
    return CompareOutcome(replace(report, findings=left), (*notes, *said))


def _refuse_unusable(new: ContractSide) -> None:
    problems = [
        Problem(place, "A2A-R02", f"{text} leads nowhere", "correct the reference, or write what it means")
        for place, text in new.tree.find_dangling_references()
    ]
    if problems:
        raise ContractError(problems)
    if not new.documents:
        raise ProjectError(f"there are no schemas in {new.label}", "name the folder that holds them")


def _refuse_different_kinds(old: ContractSide, new: ContractSide) -> None:
    if not old.documents:
        return
    kinds = ["an agent" if side.agent else "a contract" if side.is_contract else "a folder of schemas" for side in (old, new)]
    if (old.agent is None) != (new.agent is None):
        raise ProjectError(
            f"{old.label} is {kinds[0]} and {new.label} is {kinds[1]}", "compare like with like; --plain compares schemas whatever is around them"
        )


def should_fail(report: Report, fail_on: str) -> bool:
    """Whether anything is as bad as what a run should fail on."""
    levels = {str(level): level for level in ChangeLevel if level is not ChangeLevel.NONE}
    return fail_on in levels and bool(report.findings_at_least(levels[fail_on]))

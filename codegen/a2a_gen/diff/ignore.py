"""``a2a-gen.ignore.toml``: changes that somebody has looked at and wants, each with the reason and, if it is not for ever, a last day.

    [[ignore]]
    rule = "A2A051"                        the code or the id of a rule
    path = "schema/v1_0/task.json#/$defs/TaskState"    where, with everything below it
    fingerprint = "3f2a9c01d4be"           this change only; survives moved lines and other words
    reason = "clients were told in May"    must be there
    until = 2027-01-01                     afterwards it counts again

An entry needs a rule and a path, or a fingerprint. One that fits nothing, and one whose day is over, are reported.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.rules.table import TABLE
from a2a_gen.problems import ProjectError
from a2a_gen.support.kinds import is_list, is_object

NAME = "a2a-gen.ignore.toml"
_KEYS = frozenset({"rule", "path", "fingerprint", "reason", "until"})
_CURE = 'write [[ignore]] with rule = "…", path = "…" or fingerprint = "…", and reason = "…"'


@dataclass(frozen=True, slots=True)
class Entry:
    """One approval."""

    rule: str
    path: str
    fingerprint: str
    reason: str
    until: date | None

    def fits(self, finding: Finding) -> bool:
        """Tell whether an approval is about a finding."""
        if self.fingerprint:
            return self.fingerprint == finding.fingerprint
        place = f"{finding.new.file}#{finding.new.pointer}"
        return self.rule in {finding.rule.code, finding.rule.id} and (place == self.path or place.startswith((f"{self.path}/", f"{self.path}#")))

    @property
    def is_over(self) -> bool:
        """Whether its last day has passed."""
        return self.until is not None and self.until < datetime.now(UTC).date()

    def __str__(self) -> str:
        return " ".join(filter(None, (self.rule, self.path, self.fingerprint)))


def read(file: Path) -> tuple[Entry, ...]:
    """Read the file; none when it is not there."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProjectError(f"{file.name} cannot be read: {error}", "correct the text, or delete the file") from error
    rows = table.get("ignore")
    listed: list[object] = [*rows] if is_list(rows) else []
    if set(table) - {"ignore"} or (rows is not None and not is_list(rows)):
        raise ProjectError(f"{file.name} has keys beside [[ignore]]", _CURE)
    return tuple(_entry(file, index, row) for index, row in enumerate(listed, 1))


def _entry(file: Path, index: int, row: object) -> Entry:
    where = f"{file.name}: entry {index}"
    if not is_object(row) or row.keys() - _KEYS:
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
    return Entry(words["rule"], words["path"], words["fingerprint"], words["reason"], _day(where, row.get("until")))


def _day(where: str, until: object) -> date | None:
    if until is None or (isinstance(until, date) and not isinstance(until, datetime)):
        return until
    try:
        return date.fromisoformat(str(until))
    except ValueError:
        raise ProjectError(f"{where}: until is no day", "write it as 2027-01-01") from None


def apply(entries: Sequence[Entry], findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Leave out what is approved; say which approvals are over or fit nothing."""
    used: set[Entry] = set()
    left: list[Finding] = []
    for finding in findings:
        fitting = [entry for entry in entries if entry.fits(finding)]
        used.update(fitting)
        if all(entry.is_over for entry in fitting):
            left.append(finding)
    notes = [f"{NAME}: {entry} is over since {entry.until}: decide again" for entry in entries if entry.is_over]
    notes += [f"{NAME}: {entry} fits no finding: delete it" for entry in entries if entry not in used and not entry.is_over]
    return tuple(left), tuple(notes)


def entries_for(findings: Iterable[Finding]) -> str:
    """Write entries for findings, whose reasons somebody has yet to give."""
    return "".join(
        f"\n[[ignore]]\nrule = {json.dumps(each.rule.code)}\npath = {_quoted(f'{each.new.file}#{each.new.pointer}')}\n"
        f'fingerprint = "{each.fingerprint}"\nreason = ""  # {" ".join(each.text.split())}\n'
        for each in findings
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=True).replace("\x7f", "\\u007f")

"""Accepted changes: entries of the ignore file, and those beside the schemas that they are about.

``a2a-gen.ignore.toml`` lists accepted changes, each with a reason and an optional expiry date:

    [[ignore]]
    rule = "A2A051"                      code or id of a rule
    path = "schema/v1_0/task.json#/$defs/TaskState"    the location and everything below it
    fingerprint = "3f2a9c01d4be"         one change only; survives moved lines and other messages
    reason = "clients were told in May"  required
    until = 2027-01-01                   the finding is reported again afterwards

An entry needs a rule and a path, or a fingerprint. Beside a schema of the revision,
``x-diff-ignore`` lists entries without a path: they are about that schema and everything below it.
Expired entries and entries without a finding are reported.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.rules.table import TABLE
from a2a_gen.diff.sides import ContractSide
from a2a_gen.problems import ProjectError
from a2a_gen.source.references import iter_schemas
from a2a_gen.support.json_types import is_json_array, is_json_object

IGNORE_FILE = "a2a-gen.ignore.toml"
INLINE_KEYWORD = "x-diff-ignore"
_KEYS = frozenset({"rule", "path", "fingerprint", "reason", "until"})
_INLINE_CURE = 'write "x-diff-ignore": [{"rule": "…", "reason": "…", "until": "2027-01-01"}]'
_CURE = 'write [[ignore]] with rule = "…", path = "…" or fingerprint = "…", and reason = "…"'


@dataclass(frozen=True, slots=True)
class IgnoreEntry:
    """One accepted change."""

    rule: str
    path: str
    fingerprint: str
    reason: str
    until: date | None
    source: str = IGNORE_FILE

    def is_match(self, finding: Finding) -> bool:
        """Return true if the entry covers a finding."""
        if self.fingerprint:
            return self.fingerprint == finding.fingerprint
        place = f"{finding.new.file}#{finding.new.pointer}"
        return self.rule in {finding.rule.code, finding.rule.id} and (
            place == self.path or place.startswith((f"{self.path}/", f"{self.path}#"))
        )

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
        raise ProjectError(
            f"{file.name}: cannot be read: {error}", "correct the syntax, or delete the file"
        ) from error
    rows = table.get("ignore")
    listed: list[object] = [*rows] if is_json_array(rows) else []
    if set(table) - {"ignore"} or (rows is not None and not is_json_array(rows)):
        raise ProjectError(f"{file.name}: unknown keys beside [[ignore]]", _CURE)
    return tuple(
        _parse_entry(f"{file.name}: entry {index}", row, _CURE, file.name)
        for index, row in enumerate(listed, 1)
    )


def read_inline_entries(side: ContractSide) -> Iterator[IgnoreEntry]:
    """Read the entries beside the schemas of a side."""
    for document in side.tree.documents.values():
        for schema in iter_schemas(document.data):
            listed = schema.members.get(INLINE_KEYWORD)
            if listed is None:
                continue
            place = side.tree.place_at((document.path, schema.pointer))
            where = f"{place.file}:{place.line}: {INLINE_KEYWORD}"
            if not isinstance(listed, list):
                raise ProjectError(f"{where}: not a list of entries", _INLINE_CURE)
            for row in listed:
                if not isinstance(row, dict) or "path" in row:
                    raise ProjectError(f"{where}: not an entry without a path", _INLINE_CURE)
                yield _parse_entry(
                    where, {**row, "path": f"{place.file}#{schema.pointer}"}, _INLINE_CURE, where
                )


def _parse_entry(where: str, row: object, cure: str, source: str = IGNORE_FILE) -> IgnoreEntry:
    if not is_json_object(row) or row.keys() - _KEYS:
        raise ProjectError(f"{where}: unknown keys", cure)
    fields: dict[str, str] = {}
    for key in ("rule", "path", "fingerprint", "reason"):
        value = row.get(key, "")
        if not isinstance(value, str):
            raise ProjectError(f"{where}: rule, path, fingerprint and reason must be strings", cure)
        fields[key] = value
    if not fields["reason"].strip():
        raise ProjectError(f"{where}: reason is missing", "state why the change is accepted")
    if not fields["fingerprint"] and not (fields["rule"] and fields["path"]):
        raise ProjectError(f"{where}: neither a fingerprint nor a rule with a path", cure)
    known_rules = TABLE.keys() | {rule.code for rule in TABLE.values()}
    if fields["rule"] and fields["rule"] not in known_rules:
        raise ProjectError(
            f"{where}: rule {fields['rule']!r} does not exist", "use a code or id of docs/rules.md"
        )
    return IgnoreEntry(
        fields["rule"],
        fields["path"],
        fields["fingerprint"],
        fields["reason"],
        _parse_day(where, row.get("until")),
        source,
    )


def _parse_day(where: str, until: object) -> date | None:
    if until is None or (isinstance(until, date) and not isinstance(until, datetime)):
        return until
    try:
        return date.fromisoformat(str(until))
    except ValueError:
        raise ProjectError(f"{where}: until is not a date", "write it as 2027-01-01") from None


def apply_ignore_entries(
    entries: Sequence[IgnoreEntry], findings: Iterable[Finding]
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Remove ignored findings; return notes about entries that are expired or unused."""
    used_entries: set[IgnoreEntry] = set()
    remaining: list[Finding] = []
    for finding in findings:
        matching = [entry for entry in entries if entry.is_match(finding)]
        used_entries.update(matching)
        if all(entry.is_expired for entry in matching):
            remaining.append(finding)
    notes = [
        f"{entry.source}: {entry} expired on {entry.until}; renew or delete it"
        for entry in entries
        if entry.is_expired
    ]
    notes += [
        f"{entry.source}: {entry} matches no finding; delete it"
        for entry in entries
        if entry not in used_entries and not entry.is_expired
    ]
    return tuple(remaining), tuple(notes)


def render_ignore_entries(findings: Iterable[Finding]) -> str:
    """Write ignore entries for findings, with empty reasons."""
    return "".join(
        f"\n[[ignore]]\nrule = {json.dumps(each.rule.code)}\npath = "
        f"{_quote(f'{each.new.file}#{each.new.pointer}')}\n"
        f'fingerprint = "{each.fingerprint}"\nreason = ""  # {" ".join(each.text.split())}\n'
        for each in findings
    )


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=True).replace("\x7f", "\\u007f")

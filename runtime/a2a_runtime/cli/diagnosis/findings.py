"""Findings of a diagnosis, and the exit code that they make."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum


class FindingLevel(StrEnum):
    """Weight of a finding."""

    OK = "ok"
    WARNING = "warning"
    CONFIGURATION = "error"
    """An error of the configuration: it is there at every start."""
    OUTAGE = "outage"
    """Something that the configuration names and that does not answer."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One finding; what is fine has no fix."""

    level: FindingLevel
    subject: str
    text: str
    fix: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the members as JSON."""
        return asdict(self)


def report_fine(subject: str, text: str) -> Diagnosis:
    """Build a finding of what is fine."""
    return Diagnosis(FindingLevel.OK, subject, text)


def warn(subject: str, text: str, fix: str) -> Diagnosis:
    """Build a warning."""
    return Diagnosis(FindingLevel.WARNING, subject, text, fix)


def report_error(subject: str, text: str, fix: str = "") -> Diagnosis:
    """Build an error of the configuration.

    Without ``fix``, the text ends with it after a semicolon, as our messages do.
    """
    if not fix:
        fix = "correct it there"
        if "; " in text:
            text, _, fix = text.rpartition("; ")
    return Diagnosis(FindingLevel.CONFIGURATION, subject, text, fix)


def report_outage(subject: str, text: str, fix: str = "") -> Diagnosis:
    """Build a finding of what does not answer."""
    found = report_error(subject, text, fix)
    return Diagnosis(FindingLevel.OUTAGE, found.subject, found.text, found.fix)


def to_exit_code(findings: Iterable[Diagnosis], *, is_strict: bool) -> int:
    """Return 0 if nothing is wrong, 1 for an error of the configuration, 2 if only something does
    not answer.
    """
    levels = {each.level for each in findings}
    if FindingLevel.CONFIGURATION in levels or (is_strict and FindingLevel.WARNING in levels):
        return 1
    if FindingLevel.OUTAGE in levels:
        return 2
    return 0

"""A whole run: both sides read, compared with every baseline, and approvals applied. What commands do beside this is only talking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from a2a_gen.diff import ignore
from a2a_gen.diff.baseline import Home, against, here
from a2a_gen.diff.gate import Report, Wish, compare
from a2a_gen.diff.rules.rule import Level
from a2a_gen.diff.side import Side
from a2a_gen.problems import ContractError, Problem, ProjectError

TRANSITIVE = "_TRANSITIVE"


@dataclass(frozen=True, slots=True)
class Request:
    """What to compare with what, and for whom; ``profile`` is empty for the usual one of what is compared."""

    baselines: Sequence[str]
    new: Path
    is_plain: bool = False
    profile: str = ""
    wish: Wish = field(default_factory=Wish)
    ignore: Path | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out: the report without what is approved, and what is to say about the approvals and the baselines."""

    report: Report
    notes: tuple[str, ...]


def run(request: Request) -> Outcome:
    """Compare the new side with its baselines; only a transitive profile looks at more than the newest tag of a pattern."""
    new = here(request.new, is_plain=request.is_plain)
    _refuse_unusable(new)
    profile = request.profile.removesuffix(TRANSITIVE)
    every = request.profile.endswith(TRANSITIVE)
    wish = replace(request.wish, profile=profile or ("FULL" if new.is_contract else "WIRE"))
    home = Home(request.new if request.new.is_dir() else request.new.parent, request.is_plain)
    reports: list[Report] = []
    notes: list[str] = []
    for word in request.baselines:
        sides = against(word, home)
        for old in sides if every else sides[-1:]:
            _refuse_unlike(old, new)
            if not old.documents:
                notes.append(f"{old.said} has nothing at {home.folder.name or '.'}: everything is new")
            reports.append(replace(compare(old, new, wish), baseline=old.said))
    return _approved(_merged(reports), request.ignore, notes)


def judge(old: Side, new: Side, wish: Wish, approvals: Path) -> Outcome:
    """Compare two sides that are there already, as an agent that was seen before and after."""
    return _approved(replace(compare(old, new, wish), baseline=old.said), approvals, [])


def _merged(reports: Sequence[Report]) -> Report:
    """Put reports together; what was found against one baseline is not told again for the next."""
    findings = {finding.fingerprint: finding for report in reversed(reports) for finding in report.findings}
    ordered = sorted(findings.values(), key=lambda each: (-each.level, each.new, each.rule.code, each.text))
    return Report(tuple(ordered), max((report.compared for report in reports), default=0), ", ".join(report.baseline for report in reports))


def _approved(report: Report, file: Path | None, notes: list[str]) -> Outcome:
    if file is None:
        return Outcome(report, tuple(notes))
    left, said = ignore.apply(ignore.read(file), report.findings)
    return Outcome(replace(report, findings=left), (*notes, *said))


def _refuse_unusable(new: Side) -> None:
    problems = [
        Problem(place, "A2A-R02", f"{text} leads nowhere", "correct the reference, or write what it means") for place, text in new.tree.dangling()
    ]
    if problems:
        raise ContractError(problems)
    if not new.documents:
        raise ProjectError(f"there are no schemas in {new.said}", "name the folder that holds them")


def _refuse_unlike(old: Side, new: Side) -> None:
    if not old.documents:
        return
    kinds = ["an agent" if side.agent else "a contract" if side.is_contract else "a folder of schemas" for side in (old, new)]
    if (old.agent is None) != (new.agent is None):
        raise ProjectError(
            f"{old.said} is {kinds[0]} and {new.said} is {kinds[1]}", "compare like with like; --plain compares schemas whatever is around them"
        )


def fails(report: Report, fail_on: str) -> bool:
    """Whether anything is as bad as what a run should fail on."""
    levels = {str(level): level for level in Level if level is not Level.NONE}
    return fail_on in levels and bool(report.at_least(levels[fail_on]))

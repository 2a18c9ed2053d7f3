"""Where and how an agent is mounted, as an ``a2a.toml`` says it: the one reading of its surfaces, for apps and for generated code.

A generated package holds what the file says of surfaces, limits and rates, so that it can be mounted without the file. Who may come in is not in it:
that is read where the agent runs.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from a2a_contract.dialects import DIALECTS
from a2a_contract.json_types import is_object
from a2a_contract.operations import OPERATIONS
from a2a_runtime.agent import Agent, SkillView
from a2a_runtime.auth.gate import BEARER, Gate, PresenceGate
from a2a_runtime.auth.rate_limit import ANY, Rate, Rates
from a2a_runtime.importing import UnknownNameError, named
from a2a_runtime.project.auth import gates_of
from a2a_runtime.project.errors import Complaint, ComplaintsError, complaints_of, told
from a2a_runtime.project.tables import LimitsTable, MountingTable, RatesTable, SurfaceTable
from a2a_runtime.surface import Limits, Surface

FILE = "a2a.toml"
_WITHOUT_SETTINGS: Mapping[str, Gate] = {BEARER: PresenceGate()}


def surfaces_of(agent: Agent, said: MountingTable, gates: Mapping[str, Gate]) -> tuple[Surface, ...]:
    """Make the surfaces of an agent, or raise ``ComplaintsError`` with everything that is wrong with any of them."""
    rates = _rates(said.rates)
    surfaces: list[Surface] = []
    complaints: list[Complaint] = []
    for number, each in enumerate(said.surfaces):
        try:
            made = _surface(each, agent, {**_WITHOUT_SETTINGS, **gates})
            dialects = dialects_of(*(each.dialects or said.dialects))
            surfaces.append(replace(made, dialects=dialects, limits=_limits(said.limits), rates=rates))
        except ValueError as error:
            complaints.append(Complaint(("surfaces", number), str(error)))
    if complaints:
        raise ComplaintsError(complaints)
    return tuple(surfaces)


def mounted(agent: Agent, said: Mapping[str, object], built: str, gates: Mapping[str, Gate] | None) -> tuple[Surface, ...]:
    """Make the surfaces of a generated package: what it holds of the file, where it was built, and gates instead of those of the file."""
    try:
        table = MountingTable.model_validate(said)
    except ValidationError as error:
        raise ComplaintsError([*complaints_of(error, MountingTable), Complaint((), "run a2a-gen build with the version that runs here")]) from error
    if gates is None:
        is_guarded = any(each.auth not in {None, *_WITHOUT_SETTINGS} for each in table.surfaces)
        gates = _gates_near(Path(built)) if is_guarded else {}
    return surfaces_of(agent, table, gates)


def _gates_near(built: Path) -> Mapping[str, Gate]:
    """Make the gates of the file above a package, or else of that above the folder in which the process runs."""
    above = (*built.parents, Path.cwd(), *Path.cwd().parents)
    path = next((folder / FILE for folder in above if (folder / FILE).is_file()), None)
    if path is None:
        raise ValueError(f"there is no {FILE} that says who may come in; run this where it is, or give make_surfaces the gates")
    text = path.read_text(encoding="utf-8")
    entries = tomllib.loads(text).get("auth", {})
    try:
        return gates_of(entries if is_object(entries) else {}, path.parent, os.environ)
    except ComplaintsError as error:
        raise ValueError(told(error.complaints, path, text)) from error


def dialects_of(*versions: str) -> frozenset[str]:
    """Find dialects by their versions, or by their names where they have none."""
    return frozenset(map(_dialect, versions))


def function_of(name: str) -> Callable[..., object]:
    """Import what is named as ``module:name``: a function, or a class."""
    found = named(name)
    if not callable(found):
        raise UnknownNameError(f"{name} is neither a function nor a class")
    return found


def _dialect(version: str) -> str:
    found = next((each.name for each in DIALECTS.values() if version in {each.version, each.name} and each.form_of is None), None)
    if found is None:
        known = ", ".join(each.version or each.name for each in DIALECTS.values() if not each.form_of)
        raise ValueError(f"dialects: {version!r} is not known; there are {known}")
    return found


def _surface(said: SurfaceTable, agent: Agent, gates: Mapping[str, Gate]) -> Surface:
    only = said.skills if said.skill_id is None else [said.skill_id]
    if said.auth is not None and said.auth not in gates:
        raise ValueError(f"auth = {said.auth!r} is not known; there is {', '.join(gates)}, and none")
    return Surface(
        agent,
        said.path.rstrip("/"),
        gate=gates[said.auth] if said.auth else None,
        only=None if only is None else frozenset(only),
        shown_as=_view(said),
        cancel_on_disconnect=said.cancel_on_disconnect,
        deduplicate_messages=said.deduplicate_messages,
    )


def _limits(said: LimitsTable) -> Limits:
    return Limits(
        body=said.body_bytes,
        body_seconds=said.body_seconds,
        parts=said.parts,
        part_bytes=said.part_bytes,
        depth=said.depth,
        history=said.history,
        webhooks=said.webhooks,
        concurrency=said.concurrency,
    )


def _rates(said: RatesTable) -> Rates | None:
    operations = {name: Rate(each.requests, each.seconds) for name, each in said.operations.items()}
    unknown = [name for name in operations if name not in {ANY, *OPERATIONS}]
    if unknown:
        known = f"{', '.join(OPERATIONS)}, and {ANY!r} for the rest"
        raise ComplaintsError([Complaint(("rates", "operations", name), f"there is no such operation; there is {known}") for name in unknown])
    return Rates(operations, shared=said.shared) if operations else None


def _view(said: SurfaceTable) -> SkillView | None:
    view = SkillView(said.name, said.description, tuple(said.tags), tuple(said.input_modes), tuple(said.output_modes))
    return None if view == SkillView() else view

"""Gates as ``a2a.toml`` describes them, under the names by which surfaces refer to them.

[auth.staff]
kind = "jwt"                       tokens of an issuer
issuer = "https://id.example"
audience = "reports"
discover = true                    or keys = "https://id.example/keys", public_key = "issuer.pem", or secret_env = "TOKEN_SECRET"
scopes = ["reports"]

[auth.jobs]
kind = "api-keys"                  digests of keys, and whose they are: a2a-gen auth key
keys = { 9f86d0… = "nightly-job" }

[auth.people]
kind = "basic"                     names, and hashes of passwords: a2a-gen auth password
users = { ada = "scrypt$…" }

[auth.machines]
kind = "mutual-tls"                client certificates, checked by a proxy that alone is believed
trusted_proxies = ["10.0.0.0/28"]
callers = { "CN=box,O=Acme" = "box" }

[auth.everybody]
any_of = ["staff", "jobs", ["people", "machines"]]       one of these; those in a list of their own all at once
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from a2a_contract.kinds import is_object
from a2a_runtime.auth.checkpoint import Checkpoint
from a2a_runtime.auth.gate import Gate
from a2a_runtime.auth.identity import Authenticator
from a2a_runtime.auth.kinds import KINDS, AnyKind, Table, Text
from a2a_runtime.auth.requirement import Requirement
from a2a_runtime.complaints import Complaint, ComplaintsError, complaints_of


class _AnyOf(Table):
    any_of: list[Text | list[Text]]
    same_people: bool = False
    strangers: bool = False
    """Whether those may come in too who bring nothing."""

    @property
    def groups(self) -> Sequence[Sequence[str]]:
        """List the kinds of proof that are enough, each with those that have to come with it."""
        return [[each] if isinstance(each, str) else each for each in self.any_of]


def gates_of(entries: Mapping[str, object], folder: Path, environment: Mapping[str, str]) -> dict[str, Gate]:
    """Make every gate, or raise ``ComplaintsError`` with everything that is wrong with any of them."""
    complaints: list[Complaint] = []
    kinds: dict[str, AnyKind] = {}
    choices: dict[str, _AnyOf] = {}
    made: dict[str, Authenticator] = {}
    for name, entry in entries.items():
        read = _read(name, entry, complaints)
        if isinstance(read, _AnyOf):
            choices[name] = read
        elif read is not None:
            kinds[name] = read
    for name, kind in kinds.items():
        try:
            made[name] = kind.make(name, folder, environment)
        except ValueError as error:
            complaints.append(Complaint(("auth", name), str(error)))
    complaints += [complaint for name, choice in choices.items() if (complaint := _unknown(name, choice, entries, choices)) is not None]
    if complaints:
        raise ComplaintsError(complaints)
    gates: dict[str, Gate] = {name: Checkpoint(made[name], require=[{name: kind.scopes}]) for name, kind in kinds.items()}
    return gates | {name: _chosen(choice, kinds, made) for name, choice in choices.items()}


def _chosen(choice: _AnyOf, kinds: Mapping[str, AnyKind], made: Mapping[str, Authenticator]) -> Checkpoint:
    required: list[Requirement] = [{part: kinds[part].scopes for part in group} for group in choice.groups]
    strangers: list[Requirement] = [{}] if choice.strangers else []
    parts = dict.fromkeys(part for group in choice.groups for part in group)
    return Checkpoint(*(made[part] for part in parts), require=[*required, *strangers], same_people=choice.same_people)


def _unknown(name: str, choice: _AnyOf, entries: Mapping[str, object], choices: Mapping[str, _AnyOf]) -> Complaint | None:
    """Complain about a choice of nothing, or of what is no kind of proof."""
    known = [each for each in entries if each not in choices]
    unknown = [part for group in choice.groups for part in group if part not in known]
    if not unknown and choice.groups and all(choice.groups):
        return None
    wrong = ", ".join(unknown) or "nothing"
    return Complaint(("auth", name, "any_of"), f"{wrong} is no kind of proof; there is {', '.join(known) or 'no entry of auth with a kind'}")


def _read(name: str, entry: object, complaints: list[Complaint]) -> AnyKind | _AnyOf | None:
    kind = entry.get("kind") if is_object(entry) else None
    model = _AnyOf if is_object(entry) and "any_of" in entry else KINDS.get(str(kind))
    if model is None:
        said = "has no kind" if kind is None else f"kind {kind!r} is not known"
        complaints.append(Complaint(("auth", name, "kind"), f"{said}; write one of {', '.join(KINDS)}, or any_of = [\u2026]"))
        return None
    try:
        return model.model_validate(entry)
    except ValidationError as error:
        complaints += complaints_of(error, model, "auth", name)
        return None

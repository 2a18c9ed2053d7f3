"""Real versions: the types of A2A 0.2.1, 0.2.5, 0.2.6 and 0.3.0, with an explanation of every
finding between them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.report import CompareOptions, Report, compare
from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.diff.sides import build_side

HISTORY = Path(__file__).parent / "history"

# Patterns of expected findings (rule, definition and text), each with the reason for it.
EXPLAINED = {
    ("0.2.1", "0.2.5"): {
        r"union-branch-added A2ARequest: the alternative "
        r"(Delete|List)TaskPushNotificationConfigRequest": (
            "new methods, which an old server refuses"
        ),
        r"union-branch-added JSONRPCResponse: the alternative "
        r"(Delete|List)TaskPushNotificationConfigSuccessResponse": "responses of the new methods",
        r"property-added-required AgentCard: protocolVersion": (
            "cards have the version since then; new readers require it"
        ),
        r"became-required \w+Request: id": (
            "a request without an id would be a notification, which A2A does not have"
        ),
        r"became-required \w+(Success|Error)Response: id": "a response always has an id",
        r"became-nullable \w+(Success|Error)Response: null": (
            "the response to an invalid request has the id null"
        ),
        r"became-nullable JSONRPC(Message|Request): null": (
            "the base types got the id of responses too"
        ),
        r"definition-removed a2a.json: JSONRPCResult": (
            "renamed to JSONRPCSuccessResponse, with other members"
        ),
        r"definition-added \w+: \w+": "types of the new methods, of extensions and of interfaces",
        r"property-added-optional \w+: "
        r"(additionalInterfaces|extensions|iconUrl|id|preferredTransport)": (
            "new members that may be missing"
        ),
    },
    ("0.2.5", "0.2.6"): {
        r"became-optional MessageSendConfiguration: acceptedOutputModes": (
            "clients may omit it now; an old server requires it"
        ),
    },
    ("0.2.6", "0.3.0"): {
        r"union-branch-added A2AError: the alternative "
        r"AuthenticatedExtendedCardNotConfiguredError": "a new error",
        r"union-branch-added A2ARequest: the alternative "
        r"GetAuthenticatedExtendedCardRequest": "a new method",
        r"union-branch-added JSONRPCResponse: the alternative "
        r"GetAuthenticatedExtendedCardSuccessResponse": "the response of the new method",
        r"union-branch-added SecurityScheme: the alternative MutualTLSSecurityScheme": (
            "a new security scheme, unknown to old readers"
        ),
        r"default-changed AgentCard: the default of protocolVersion": (
            "the version itself is the default"
        ),
        r"definition-added \w+: \w+": "types of the new method, error and scheme",
        r"property-added-optional \w+: (oauth2MetadataUrl|security|signatures)": (
            "new members that may be missing"
        ),
    },
}


def version(name: str) -> Report:
    """Read the types of a version."""
    return build_side(
        {"a2a.json": (HISTORY / f"{name}.json").read_bytes()}, label=name, is_plain=True
    )


def render_finding(finding: Finding) -> str:
    """Render a finding as the patterns above expect it."""
    return f"{finding.rule.id} {finding.definition}: {finding.text}"


@pytest.mark.parametrize(("old", "new"), EXPLAINED, ids=lambda name: name)
def test_every_finding_of_history_is_explained(old: str, new: str) -> None:
    """Each finding between two versions has an explanation, and each explanation a finding."""
    report = compare(version(old), version(new), CompareOptions("WIRE"))
    found = [render_finding(finding) for finding in report.findings]
    patterns = EXPLAINED[old, new]
    assert [
        each for each in found if not any(re.match(pattern, each) for pattern in patterns)
    ] == []
    assert [
        pattern for pattern in patterns if not any(re.match(pattern, each) for each in found)
    ] == []


@pytest.mark.parametrize(("old", "new"), EXPLAINED, ids=lambda name: name)
def test_every_break_of_history_has_a_witness(old: str, new: str) -> None:
    """Each error between two real versions has a witness."""
    report = compare(version(old), version(new), CompareOptions("WIRE"))
    errors = report.findings_at_least(ChangeLevel.ERROR)
    assert errors
    assert [render_finding(finding) for finding in errors if not finding.witnesses] == []


SCHEMA = Path(__file__).parents[3] / "schema"
EXPLAINED_1_1 = {
    r"property-added-optional Task: generation": "the number of the last change",
    r"property-added-optional Task: timeline": "statuses and messages of the client in one order",
    r"property-added-optional Task(Status|Artifact)UpdateEvent: generation": (
        "gaps tell a reader that it has missed an event"
    ),
    r"property-added-optional Artifact: (start|end)Generation": (
        "the place of an artifact in the timeline"
    ),
    r"property-added-optional SendMessageConfiguration: ifGenerationMatch": (
        "optimistic concurrency"
    ),
    r"property-added-optional GetTaskRequest: currentGeneration": "long polls",
    r"property-added-optional (SendMessageConfiguration|GetTaskRequest|ListTasksRequest): "
    r"timelineLength": "the part of the timeline that is wanted",
    r"deprecated-added (Task: history|\w+: historyLength)": (
        "the timeline takes its place, and it is filled throughout 1.x"
    ),
}


def test_every_finding_of_the_next_version_is_explained() -> None:
    """From 1.0 to the draft of 1.1: additions and deprecations only, none of which breaks a client
    or an agent.
    """
    sides = [
        build_side(
            {file.name: file.read_bytes() for file in sorted((SCHEMA / name).glob("*.json"))},
            label=name,
            is_plain=True,
        )
        for name in ("v1_0", "v1_1_draft")
    ]
    report = compare(*sides, CompareOptions("WIRE"))
    found = [render_finding(finding) for finding in report.findings]
    assert report.findings_at_least(ChangeLevel.WARNING) == ()
    assert [
        each for each in found if not any(re.match(pattern, each) for pattern in EXPLAINED_1_1)
    ] == []
    assert [
        pattern for pattern in EXPLAINED_1_1 if not any(re.match(pattern, each) for each in found)
    ] == []


def test_a_version_equals_itself() -> None:
    """A version compared with itself has no findings."""
    assert compare(version("0.3.0"), version("0.3.0"), CompareOptions("FULL")).findings == ()

"""What really happened: the types of A2A 0.2.1, 0.2.5, 0.2.6 and 0.3.0, and an explanation of every finding between them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.report import CompareOptions, Report, compare
from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.diff.sides import build_side

HISTORY = Path(__file__).parent / "history"

# Which finding, as a pattern of its rule and definition and text, and why it is right.
EXPLAINED = {
    ("0.2.1", "0.2.5"): {
        r"union-branch-added A2ARequest: (Delete|List)TaskPushNotificationConfigRequest": "two new methods, which an old server refuses",
        r"union-branch-added JSONRPCResponse: (Delete|List)TaskPushNotificationConfigSuccessResponse": "the answers to the two new methods",
        r"property-added-required AgentCard: protocolVersion": "cards name the version since then; readers of new cards miss it in old ones",
        r"became-required \w+Request: id": "a request without an id is a notification, of which there are none",
        r"became-required \w+(Success|Error)Response: id": "an answer always has an id",
        r"became-nullable \w+(Success|Error)Response: null": "an answer to a request that could not be read has the id null",
        r"became-nullable JSONRPC(Message|Request): null": "the base types got the id of answers too",
        r"definition-removed a2a.json: JSONRPCResult": "renamed to JSONRPCSuccessResponse, with other members",
        r"definition-added \w+: \w+": "types of the new methods, of extensions and of interfaces",
        r"property-added-optional \w+: (additionalInterfaces|extensions|iconUrl|id|preferredTransport)": "new members that may be missing",
    },
    ("0.2.5", "0.2.6"): {
        r"became-optional MessageSendConfiguration: acceptedOutputModes": "a client need not say what it accepts; an old server asks for it",
    },
    ("0.2.6", "0.3.0"): {
        r"union-branch-added A2AError: AuthenticatedExtendedCardNotConfiguredError": "a new error",
        r"union-branch-added A2ARequest: GetAuthenticatedExtendedCardRequest": "a new method",
        r"union-branch-added JSONRPCResponse: GetAuthenticatedExtendedCardSuccessResponse": "the answer to the new method",
        r"union-branch-added SecurityScheme: MutualTLSSecurityScheme": "a new way to prove who one is, which readers of cards do not know",
        r"default-changed AgentCard: what is meant where protocolVersion": "the version itself is the default",
        r"definition-added \w+: \w+": "types of the new method, error and scheme",
        r"property-added-optional \w+: (oauth2MetadataUrl|security|signatures)": "new members that may be missing",
    },
}


def version(name: str) -> Report:
    """Read the types of a version."""
    return build_side({"a2a.json": (HISTORY / f"{name}.json").read_bytes()}, label=name, is_plain=True)


def told(finding: Finding) -> str:
    """Write a finding as the patterns above have it."""
    return f"{finding.rule.id} {finding.definition}: {finding.text}"


@pytest.mark.parametrize(("old", "new"), EXPLAINED, ids=lambda name: name)
def test_every_finding_of_history_is_explained(old: str, new: str) -> None:
    """Each finding between two versions has an explanation, and each explanation a finding."""
    report = compare(version(old), version(new), CompareOptions("WIRE"))
    found = [told(finding) for finding in report.findings]
    patterns = EXPLAINED[old, new]
    assert [each for each in found if not any(re.match(pattern, each) for pattern in patterns)] == []
    assert [pattern for pattern in patterns if not any(re.match(pattern, each) for each in found)] == []


@pytest.mark.parametrize(("old", "new"), EXPLAINED, ids=lambda name: name)
def test_every_break_of_history_has_a_witness(old: str, new: str) -> None:
    """For each error between two real versions there is a document that shows it."""
    report = compare(version(old), version(new), CompareOptions("WIRE"))
    errors = report.findings_at_least(ChangeLevel.ERROR)
    assert errors
    assert [told(finding) for finding in errors if not finding.witnesses] == []


def test_a_version_is_like_itself() -> None:
    """Nothing is found between a version and itself."""
    assert compare(version("0.3.0"), version("0.3.0"), CompareOptions("FULL")).findings == ()

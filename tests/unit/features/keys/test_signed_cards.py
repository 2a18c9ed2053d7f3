"""The members of a card that a signature proves."""

from __future__ import annotations

import json

import pytest
from jwt import PyJWS

from a2a_contract.dialects import CANONICAL, V0_3
from a2a_contract.v1_0 import AgentCard
from a2a_runtime.features.keys.card_signatures import (
    CardSigner,
    InvalidSignatureError,
    TrustStore,
    drop_empty,
    restore_required_members,
    select_signed_members,
    verify_card,
)
from a2a_runtime.features.keys.jcs import canonicalize
from a2a_runtime.features.keys.signing import SigningKey
from a2a_runtime.features.keys.verification import keys_from_jwks

pytestmark = pytest.mark.anyio

KEY = SigningKey.generate()
TRUST = TrustStore(keys_from_jwks([KEY.to_jwk()]))
INTERFACE = {"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
CARD: dict[str, object] = {
    "name": "vault",
    "description": "",
    "version": "1",
    "supportedInterfaces": [INTERFACE],
    "capabilities": {},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "securitySchemes": {
        "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
        "mtls": {"mtlsSecurityScheme": {}},
    },
    "securityRequirements": [{"schemes": {"bearer": {"list": []}, "mtls": {"list": []}}}],
    "skills": [{"id": "s", "name": "s", "description": "d", "tags": []}],
}
SIGNATURES = [each.to_dict() for each in CardSigner([KEY]).sign(CARD)]
CHANGES: dict[str, dict[str, object]] = {
    "another requirement": {"securityRequirements": [{"schemes": {"key": {"list": []}}}]},
    "no requirement": {"securityRequirements": None},
    "another scheme": {
        "securitySchemes": {
            "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
            "other": {"mtlsSecurityScheme": {}},
        }
    },
    "a skill of nothing": {
        "skills": [{}, {"id": "s", "name": "s", "description": "d", "tags": []}]
    },
    "an interface of nothing": {"supportedInterfaces": [{"url": ""}, INTERFACE]},
    "an icon of nothing": {"iconUrl": ""},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_members_added_after_signing_are_dropped(change: dict[str, object]) -> None:
    """The form without empty members still fits a card whose empty members were changed; those are
    not returned.
    """
    card = {
        name: value
        for name, value in {**CARD, **change, "signatures": SIGNATURES}.items()
        if value is not None
    }
    known = await verify_card(card, TRUST)
    assert known == restore_required_members(drop_empty(CARD), CANONICAL.name)
    assert "securityRequirements" not in known


async def test_the_form_that_covers_more_is_preferred() -> None:
    """An unchanged card is returned whole, in any order of signatures."""
    assert len(SIGNATURES) == 2
    for signatures in (SIGNATURES, SIGNATURES[::-1]):
        assert await verify_card(
            {**CARD, "signatures": signatures}, TRUST
        ) == select_signed_members(CARD, CANONICAL.name)


async def test_only_the_shorter_form_is_signed() -> None:
    """The result is a valid card: required members are present, but empty."""
    known = await verify_card({**CARD, "signatures": SIGNATURES[1:]}, TRUST)
    assert (known["description"], known["capabilities"]) == ("", {})
    card = AgentCard.model_validate_json(json.dumps(known))
    assert card.skills[0].tags == []
    assert not card.security_requirements


async def test_changed_members_fit_no_form() -> None:
    """Members that are not empty are covered by both forms."""
    for change in ({"version": "2"}, {"securitySchemes": {}}, {"skills": []}):
        with pytest.raises(InvalidSignatureError):
            await verify_card({**CARD, **change, "signatures": SIGNATURES}, TRUST)


async def test_members_of_newer_versions_may_be_signed() -> None:
    """A signature over unknown members is valid, and they are not returned."""
    newer = {**CARD, "mood": "fine"}
    protected, _, signature = (
        PyJWS()
        .encode(canonicalize(newer), KEY.private, KEY.algorithm, {"kid": KEY.key_id})
        .split(".")
    )
    assert await verify_card(
        {**newer, "signatures": [{"protected": protected, "signature": signature}]}, TRUST
    ) == select_signed_members(CARD, CANONICAL.name)


def test_cards_of_0_3_are_filled_in() -> None:
    """Each dialect defines its required members."""
    filled = restore_required_members({"name": "x", "skills": [{"id": "s"}]}, V0_3.name)
    assert filled["capabilities"] == {}
    assert filled["skills"] == [{"id": "s", "name": "", "description": "", "tags": []}]

"""Runs in the environment of the official SDK for A2A 1.0: signs a card, or verifies one.

One JSON question per line, one answer per line.

Nothing of this project is importable here.
"""

import json
import sys

from a2a.types import AgentCard
from a2a.utils.signing import (
    SignatureVerificationError,
    create_agent_card_signer,
    create_signature_verifier,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt import PyJWK


def answer(question: dict) -> object:
    """Sign with a private PEM, or say whether a public JWK verifies."""
    card = ParseDict(question["card"], AgentCard(), ignore_unknown_fields=True)
    if "pem" in question:
        header = {"alg": question["alg"], "kid": question["kid"], "typ": "JOSE"}
        return MessageToDict(create_agent_card_signer(question["pem"], header)(card))
    verify = create_signature_verifier(
        lambda _kid, _jku: PyJWK(question["jwk"]), [question["jwk"]["alg"]]
    )
    try:
        verify(card)
    except SignatureVerificationError:
        return False
    return True


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")

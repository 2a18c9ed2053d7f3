"""The judges themselves: they read, write and refuse as their SDKs do."""

from __future__ import annotations

import pytest
from peers.peer import Peer, Refused

pytestmark = pytest.mark.peer


def test_the_1_0_judge_reads_and_refuses(sdk_1_0: Peer) -> None:
    """The 1.0 SDK speaks the JSON form of its protocol buffers."""
    assert sdk_1_0.read("v1_0", "Part", {"text": "hello", "mediaType": "text/plain"}) == {
        "text": "hello",
        "mediaType": "text/plain",
    }
    with pytest.raises(Refused, match="ParseError"):
        sdk_1_0.read("v1_0", "Part", {"text": 1})


def test_the_0_3_judge_reads_both_forms(sdk_0_3: Peer) -> None:
    """The 0.3 SDK has Pydantic types for the kind form and protocol buffers for the other."""
    assert sdk_0_3.read("v0_3", "TextPart", {"text": "hello"}) == {"kind": "text", "text": "hello"}
    assert sdk_0_3.read("v0_3_proto", "Part", {"text": "hello"}) == {"text": "hello"}
    with pytest.raises(Refused, match="ValidationError"):
        sdk_0_3.read("v0_3", "TextPart", {"text": 1})

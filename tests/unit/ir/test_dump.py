"""The intermediate form can be looked at."""

import json
from collections.abc import Callable, Mapping

import pytest

from a2a_gen.ir.build import build_contract
from a2a_gen.ir.dump import to_json, to_json_value
from a2a_gen.source.documents import Document

Small = Callable[[Mapping[str, object]], Mapping[str, Document]]


def test_shows_every_decision(small: Small) -> None:
    """A node has its class and its place, and no empty members."""
    dump = json.loads(to_json(build_contract(small({}))))
    path = dump["operations"][0]["calls"][1]["http"][0]
    assert path == {
        "is": "HttpPath",
        "method": "GET",
        "path": "/v0/{name=tasks/*}",
        "segments": ["v0", "tasks", 0],
        "fields": [{"is": "PathField", "member": "name", "pieces": ["tasks", 0]}],
    }
    assert dump["families"][1]["types"][0]["place"].startswith("v1/message.json:")


def test_is_the_same_again(small: Small) -> None:
    """The order of the documents makes no difference."""
    documents = small({})
    assert to_json(build_contract(documents)) == to_json(build_contract(small({})))


def test_shows_nothing_else() -> None:
    """Reject a value that is not a type of the intermediate."""
    with pytest.raises(TypeError, match="not a type of the intermediate"):
        to_json_value(object())

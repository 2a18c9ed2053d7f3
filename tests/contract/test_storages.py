"""Storages for the simple store pass the contract that ships for them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from a2a_runtime.features.simple_stores.codec import REQUIRED
from a2a_runtime.testing.dict_storage import DictStorage
from a2a_runtime.testing.storage_contract import StorageContract


class TestDict(StorageContract):
    """The storage in dictionaries, with all nine methods."""

    @pytest.fixture
    def storage(self) -> DictStorage:
        """Create one for each test."""
        return DictStorage()


class _OfThreeMethods:
    """An object that descends from no storage, with the methods that it must have."""

    def __init__(self) -> None:
        whole = DictStorage()
        for name in REQUIRED:
            setattr(self, name, getattr(whole, name))


class TestThreeMethods(StorageContract):
    """A storage with three methods."""

    @pytest.fixture
    def storage(self) -> Any:  # noqa: ANN401 - as in the contract
        """Create one for each test."""
        return _OfThreeMethods()


def _load_example() -> Any:  # noqa: ANN401 - a class of a document
    """Return the storage of the documentation."""
    text = (Path(__file__).parents[2] / "docs" / "stores.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "stores"}
    exec(next(iter(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))), names)  # noqa: S102 - our own document
    return names["FileStorage"]


class TestDocumented(StorageContract):
    """The storage of the documentation, in files."""

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Any:  # noqa: ANN401 - as in the contract
        """Create a folder for each test."""
        return _load_example()(tmp_path)

"""Models of the small contract, generated and imported; and the contract of the protocol, built
once.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import pytest

from a2a_gen.emit import models
from a2a_gen.emit import package as support
from a2a_gen.ir.build import assemble, build_contract
from a2a_gen.ir.model import Contract
from a2a_gen.source.documents import Document, load_documents

Emitted = Callable[[Mapping[str, object]], dict[str, bytes]]
Made = Callable[[Mapping[str, object]], Callable[[str], ModuleType]]


@pytest.fixture
def emit_models(small: Callable[[Mapping[str, object]], Mapping[str, Document]]) -> Emitted:
    """Generate the models of the small contract, with edits."""

    def emit(edits: Mapping[str, object]) -> dict[str, bytes]:
        documents = small(edits)
        return models.emit(assemble(documents)[0], documents)

    return emit


@pytest.fixture
def make_models(emit_models: Emitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Generate the models of the small contract, with edits, and give its modules by name."""

    def make(edits: Mapping[str, object]) -> Callable[[str], ModuleType]:
        package = tmp_path / f"made_{tmp_path.name}"
        for path, content in {
            **support.emit_support(),
            **emit_models(edits),
            "__init__.py": b"",
        }.items():
            (package / path).parent.mkdir(parents=True, exist_ok=True)
            (package / path).write_bytes(content)
        monkeypatch.syspath_prepend(str(tmp_path))
        return lambda name: importlib.import_module(f"{package.name}.{name}")

    return make


@pytest.fixture(scope="session")
def documents() -> Mapping[str, Document]:
    """Read the files of the protocol's contract."""
    return load_documents(Path(__file__).parents[3] / "schema")


@pytest.fixture(scope="session")
def contract(documents: Mapping[str, Document]) -> Contract:
    """Build the protocol's contract."""
    return build_contract(documents)

"""The registry of what can be plugged into the core: every row loads, and is of its kind."""

from __future__ import annotations

from typing import get_args

import pytest

from a2a_contract.auth_tables import AnyOfTable, AuthTables
from a2a_contract.srs_forms import REQUESTS
from a2a_runtime.agent import Agent
from a2a_runtime.ports import registry
from a2a_runtime.ports.dialect_support import DialectSupport
from a2a_runtime.ports.feature import Feature
from a2a_runtime.stores.base import DEFAULT_OPTIONS
from a2a_runtime.stores.factory import create_store, find_missing_methods, is_shared
from a2a_runtime.surface import Surface
from a2a_runtime.testing.dict_storage import DictStorage


def test_rows_are_of_their_kinds() -> None:
    """A variant is checked when it is loaded, and has the key of its row."""
    assert all(callable(registry.load(row.name)) for row in registry.OBSERVERS)
    for row in registry.FEATURES:
        kind = registry.load(row.name)
        assert isinstance(kind, type)
        assert issubclass(kind, Feature)
    assert all(
        isinstance(registry.load(name), DialectSupport) for name in registry.DIALECTS.values()
    )
    assert [each.key for each in registry.load_variants(registry.VARIANTS)] == [*registry.VARIANTS]
    storage = registry.load_function(registry.STORAGE)(DictStorage(), DEFAULT_OPTIONS)
    assert find_missing_methods(storage) == []


@pytest.mark.parametrize("scheme", registry.STORES)
def test_a_row_builds_the_store_of_its_scheme(scheme: str) -> None:
    """Its forms are valid addresses, and it knows without loading the store whether processes may
    share it.
    """
    row = registry.STORES[scheme]
    forms = row.forms or f"{scheme}://host/database"
    for form in forms.split(", "):
        address = form.partition(" ")[0]
        store = create_store(address)
        assert is_shared(address) == row.is_shared == (store.notifier() is not None)


def test_every_kind_of_authentication_is_built() -> None:
    """A kind is a table of the schema and a row; a platform has no credentials to check."""
    (_, entry) = get_args(AuthTables.__value__)
    tables = {
        each.model_fields["kind"].default for each in get_args(entry) if each is not AnyOfTable
    }
    assert tables - {"platform"} == set(registry.AUTHENTICATORS)
    assert all(map(registry.load_function, registry.AUTHENTICATORS.values()))


def test_members_that_only_a_variant_reads() -> None:
    """The row repeats them, so that no variant is loaded for an unknown member."""
    read = {name for rule in REQUESTS if not rule.at for name, _ in (*rule.move, *rule.limit)}
    assert registry.VARIANTS["srs_forms"].members == read
    assert not [*registry.load_readers("nonsense")]


@pytest.mark.parametrize("wrong", ["srs_form", "", 7, object])
def test_a_wrong_key_names_the_right_ones(wrong: object) -> None:
    """A surface fails when it is built."""
    agent = Agent("a")
    agent.add("echo", lambda ctx: ctx.text)
    with pytest.raises(ValueError, match=r"use one of .*srs_forms"):
        Surface(agent, variants=(wrong,))  # type: ignore[arg-type]  # wrong on purpose


def test_a_row_that_names_no_function_is_refused() -> None:
    """Nothing calls a value."""
    with pytest.raises(TypeError, match=r"^ports\.registry:OFF is no function$"):
        registry.load_function("ports.registry:OFF")

"""Addresses of stores in messages and errors."""

from __future__ import annotations

import pytest

from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.stores.address import has_password, hide_secrets
from a2a_runtime.stores.factory import create_store, is_shared

SECRETS = {
    "mysql://agent:HUSH@db/x": "mysql://***@db/x",
    "postgresql://agent:HU@SH@db/x": "postgresql://***@db/x",
    "postgresql://agent:HU/SH@db/x": "postgresql://***@db/x",
    "postgresql://agent:HU#SH@db/x?ssl=1": "postgresql://***@db/x?***",
    "postgresql:///x?password=HUSH": "postgresql:///x?***",
    "agent:HUSH@db": "***@db",
    "host=db user=agent password=HUSH": "***",
    "postgresql://agent:HUSH@[bad": "postgresql://***@[bad",
    "mysql://x": "mysql://x",
    "sqlite:///tasks.db": "sqlite:///tasks.db",
}


@pytest.mark.parametrize(("address", "masked"), SECRETS.items(), ids=SECRETS)
def test_no_form_shows_a_password(address: str, masked: str) -> None:
    """Malformed addresses neither: a message about one must not repeat its password."""
    assert hide_secrets(address) == masked
    assert has_password(address) == ("@" in address)


@pytest.mark.parametrize(
    "address",
    [
        "mysql://agent:HUSH@db/x",
        "postgresql://agent:HUSH@[bad",
        "postgresql://[bad",
        "postgresql://agent:HUSH@db:99999/x",
        "postgresql://agent:HUSH/1@db/x",
        "agent:HUSH@db",
        "sqlite://agent:HUSH@x",
    ],
)
def test_an_address_that_cannot_be_used_is_one_line(address: str) -> None:
    """It has the cure, and no part of a password."""
    assert is_shared(address) == address.startswith("postgresql")
    with pytest.raises(UnsupportedStoreError, match=r"^store: .*; (write|use) ") as raised:
        create_store(address)
    assert "HUSH" not in str(raised.value)
    assert raised.value.__cause__ is None

"""The certificate authorities that clients trust."""

from __future__ import annotations

import certifi
import pytest

from a2a_runtime.net.authorities import load_ssl_context


def test_authorities_are_read_once_for_each_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients share them, until the environment names another file."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    usual = load_ssl_context()
    assert load_ssl_context() is usual
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    assert load_ssl_context() is not usual

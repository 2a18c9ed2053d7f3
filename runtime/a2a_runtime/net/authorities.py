"""The certificate authorities that the clients of a process trust."""

from __future__ import annotations

import os
import ssl
from functools import cache

import httpx


def load_ssl_context() -> ssl.SSLContext:
    """Return the authorities of the environment.

    They are read once: it takes 20 ms, during which the event loop stands still.
    """
    return _read(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _read(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    return httpx.create_ssl_context()

"""Runs in a process of its own: the agent under test, as an app that any ASGI server can import."""

from __future__ import annotations

from conformance.agent import app_under_test

app = app_under_test()

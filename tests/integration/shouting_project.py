"""A project with one skill and two surfaces, in a file."""

from __future__ import annotations

SKILLS = "async def shout(ctx):\n    return ctx.text.upper()\n\n\nnothing = 7\n"
PROJECT = """
dialects = ["1.0"]
store = "sqlite:///tasks.db"

[agent]
name = "shouter"
description = "Shouts."
version = "1.2.3"
provider = {organization = "ACME", url = "https://acme.example"}

[capabilities]
extensions = [{uri = "https://example.org/x"}]

[skills.shout]
description = "Says it louder."
handler = "shouting:shout"
tags = ["loud"]
timeout = 5

[[surfaces]]
path = "/a"
auth = "bearer"

[[surfaces]]
path = "/b"
dialects = ["0.3"]
skills = ["shout"]

[limits]
body_bytes = 1000
shutdown_grace = 1

[outputs]
package = "shouter.contract"
"""

"""Credentials that a card requires, and the options of a command line that give them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from a2a_contract.v1_0 import AgentCard, SecurityScheme
from a2a_runtime.cli.terminal.text import to_safe_line

_NAME_AND_PASSWORD = "--user @FILE (name:password)"  # noqa: S105 - the option, not a secret


def describe_requirements(card: AgentCard) -> str:
    """Describe the credentials that a card requires: alternatives of schemes, each with its
    kind.
    """
    schemes = card.security_schemes or {}

    def describe(name: str) -> str:
        fields = SecurityScheme.model_fields if name in schemes else ()
        kinds = (each for each in fields if getattr(schemes[name], each) is not None)
        kind = next(kinds, "unknown").removesuffix("_security_scheme").replace("_", " ")
        return f"{name} ({kind})"

    alternatives = card.security_requirements or ()
    found = [" with ".join(map(describe, each.schemes or {})) or "nothing" for each in alternatives]
    return to_safe_line(" or ".join(found) or "nothing")


def describe_options(card: AgentCard) -> str:
    """Describe the options that give what a card requires; empty if no option can."""
    return ", or ".join(_describe_alternatives(card))


def _describe_alternatives(card: AgentCard) -> Iterator[str]:
    schemes = card.security_schemes or {}
    for requirement in card.security_requirements or ():
        options = [_describe_option(name, schemes.get(name)) for name in requirement.schemes or {}]
        # this pair is refused beside --auth
        is_mixed = len(options) > 1 and _NAME_AND_PASSWORD in options
        if options and all(options) and not is_mixed:
            yield " ".join(options)


def _describe_option(name: str, scheme: SecurityScheme | None) -> str:
    """Describe the option for one scheme; empty for a certificate, and for a key that would be in a
    URL.
    """
    if scheme is None or scheme.mtls_security_scheme is not None:
        return ""
    word = shlex.quote(f"{to_safe_line(name)}=@FILE")
    key = scheme.api_key_security_scheme
    http = scheme.http_auth_security_scheme
    if key is not None:
        if key.location == "query":
            return ""
        return f"--auth {word} (an API key)"
    if http is None:
        return f"--auth {word} (an access token)"
    if http.scheme.lower() == "basic":
        return _NAME_AND_PASSWORD
    return f"--auth {word} (a bearer token)"

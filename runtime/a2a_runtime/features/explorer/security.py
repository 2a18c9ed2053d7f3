"""The security schemes of a card, as a sign-in form needs them: one kind for each way to prove who
one is.
"""

from __future__ import annotations

from a2a_contract.v1_0 import AgentCard, OAuth2SecurityScheme, SecurityScheme

API_KEY = "apiKey"
BASIC = "basic"
BEARER = "bearer"
HTTP = "http"
OAUTH2 = "oauth2"
OPEN_ID_CONNECT = "openIdConnect"
MUTUAL_TLS = "mutualTls"


def describe_security(card: AgentCard) -> list[dict[str, object]]:
    """Describe each scheme, with the scopes that the card requires of it."""
    required = [requirement.schemes or {} for requirement in card.security_requirements or ()]
    described: list[dict[str, object]] = []
    for name, scheme in (card.security_schemes or {}).items():
        found: set[str] = set()
        for each in required:
            if name in each:
                found.update(each[name].list_ or ())
        scopes = sorted(found)
        is_required = any(name in each for each in required)
        described.append(
            {"name": name, "required": is_required, "scopes": scopes, **describe_scheme(scheme)}
        )
    return described


def describe_scheme(scheme: SecurityScheme) -> dict[str, object]:
    """Describe one scheme by its kind."""
    if (key := scheme.api_key_security_scheme) is not None:
        return {
            "kind": API_KEY,
            "text": key.description or "",
            "location": key.location,
            "parameter": key.name,
        }
    if (http := scheme.http_auth_security_scheme) is not None:
        given = http.scheme.lower()
        return {
            "kind": given if given in (BASIC, BEARER) else HTTP,
            "text": http.description or "",
            "scheme": http.scheme,
        }
    if (oauth := scheme.oauth2_security_scheme) is not None:
        return {"kind": OAUTH2, "text": oauth.description or "", "flows": _list_flows(oauth)}
    if (oidc := scheme.open_id_connect_security_scheme) is not None:
        return {
            "kind": OPEN_ID_CONNECT,
            "text": oidc.description or "",
            "url": oidc.open_id_connect_url,
            "flows": ["authorizationCode"],
        }
    text = ""
    if (tls := scheme.mtls_security_scheme) is not None:
        text = tls.description or ""
    return {"kind": MUTUAL_TLS, "text": text}


def _list_flows(oauth: OAuth2SecurityScheme) -> list[str]:
    return [*oauth.flows.to_dict()]

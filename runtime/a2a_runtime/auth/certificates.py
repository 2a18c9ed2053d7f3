"""Client certificates (mutual TLS), checked by a proxy that says in headers what it has found.

    Certificates(trusted=["10.0.0.0/28"])                 nginx: X-SSL-Client-Verify: SUCCESS, X-SSL-Client-S-DN: CN=ada,O=Acme

Anybody can send such headers. They are believed from the proxy's own addresses only, and the proxy must put its own in the place of those that a
client sends. Who sends them from elsewhere is refused, and not just not believed: something is wrong with the network. The address is the one of the
connection: a server that puts a forwarded one in its place (``--proxy-headers``) would refuse every certificate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address, ip_network

from a2a_contract.v1_0 import MutualTlsSecurityScheme, SecurityScheme
from a2a_runtime.auth.credentials import Credentials
from a2a_runtime.auth.identity import Identity, RefusedError


class Certificates:
    """Knows callers by the names in their certificates: those in ``callers``, or everybody who has one."""

    def __init__(
        self,
        trusted: Iterable[str],
        *,
        subject_header: str = "x-ssl-client-s-dn",
        verified: tuple[str, str] = ("x-ssl-client-verify", "SUCCESS"),
        scheme: str = "mtls",
        callers: Mapping[str, Identity] | None = None,
    ) -> None:
        self._trusted, self._callers = [ip_network(each) for each in trusted], callers
        if not self._trusted:
            raise ValueError("name the addresses of the proxy that checks certificates: trusted=['10.0.0.0/28']")
        self._subject, (self._verified, self._yes) = subject_header, verified
        self._scheme = scheme

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | None:
        """Take the name that the proxy gives."""
        subject, verified = headers.get(self._subject), headers.get(self._verified)
        if not subject and verified != self._yes:
            return None
        if not isinstance(headers, Credentials) or not self._is_trusted(headers.client):
            raise RefusedError("A certificate was named by somebody who cannot have checked it")
        if not subject or verified != self._yes:
            raise RefusedError("The certificate was not verified")
        if self._callers is None:
            return Identity(subject)
        if subject not in self._callers:
            raise RefusedError("The certificate is that of nobody who is known here")
        return self._callers[subject]

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Say that a certificate is needed."""
        return {self._scheme: SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme())}

    def _is_trusted(self, client: str) -> bool:
        try:
            address = ip_address(client)
        except ValueError:
            return False
        return any(address in network for network in self._trusted)

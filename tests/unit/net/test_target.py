"""URLs that others wrote: which are called, and what is said about those that are not."""

from __future__ import annotations

import pytest

from a2a_contract.errors import InvalidParamsError
from a2a_runtime.net.policy import OutboundPolicy
from a2a_runtime.net.target import UrlRefusedError, parse_target

DEFAULT = OutboundPolicy()
DEVELOPMENT = OutboundPolicy(allow_loopback=True)

CALLED = {
    "https://example.com": ("example.com", 443, b"/", "example.com"),
    "https://EXAMPLE.com:8443/a?b=c#d": ("example.com", 8443, b"/a?b=c", "example.com:8443"),
    "https://bücher.example/ö": ("xn--bcher-kva.example", 443, b"/%C3%B6", "xn--bcher-kva.example"),
    "https://93.184.216.34/": ("93.184.216.34", 443, b"/", "93.184.216.34"),
    "https://[2606:4700::1111]:8443/": ("2606:4700::1111", 8443, b"/", "[2606:4700::1111]:8443"),
    "https://1.example.com./": ("1.example.com.", 443, b"/", "1.example.com."),
}
REFUSED = {
    "no url": "hello",
    "nothing": "",
    "no host": "https:///path",
    "another scheme": "file:///etc/passwd",
    "gopher": "gopher://example.com/",
    "http": "http://example.com/",
    "blank before": " https://example.com/",
    "line break": "https://example.com/\r\nHost: evil",
    "user": "https://user@example.com/",
    "password": "https://user:secret@example.com/",
    "backslash": "https://example.com\\@10.0.0.1/",
    "port": "https://example.com:22/",
    "port out of range": "https://example.com:99999/",
    "loopback": "https://127.0.0.1/",
    "private": "https://10.0.0.1/",
    "metadata": "https://169.254.169.254/latest/meta-data/",
    "metadata in version 6": "https://[fd00:ec2::254]/",
    "mapped": "https://[::ffff:127.0.0.1]/",
    "mapped in hexadecimal": "https://[::ffff:7f00:1]/",
    "NAT64": "https://[64:ff9b::a00:1]/",
    "6to4": "https://[2002:7f00:1::]/",
    "zone": "https://[fe80::1%25eth0]/",
    "decimal": "https://2130706433/",
    "hexadecimal": "https://0x7f000001/",
    "hexadecimal with dots": "https://0x7f.0.0.0x1/",
    "octal": "https://0177.0.0.1/",
    "octal in one": "https://017700000001/",
    "short": "https://127.1/",
    "number with a dot": "https://2130706433./",
    "address with a dot": "https://127.0.0.1./",
    "full-width digits": "https://\uff11\uff12\uff17.0.0.1/",
    "bracket": "https://[/",
    "encoded host": "https://%31%30.0.0.1/",
    "long label": f"https://{'a' * 64}.example/\ud800",
}


@pytest.mark.parametrize("url", CALLED, ids=str)
def test_a_url_that_is_called(url: str) -> None:
    """It is taken apart once: host, port, path, and what the Host header says."""
    target = parse_target(url, DEFAULT)
    assert (target.host, target.port, target.path, target.authority) == CALLED[url]


@pytest.mark.parametrize("url", REFUSED.values(), ids=REFUSED)
def test_a_url_that_is_not_called(url: str) -> None:
    """It is refused as a wrong parameter, without any call; neither text repeats what may be secret
    in it.
    """
    with pytest.raises(UrlRefusedError) as caught:
        parse_target(url, DEFAULT)
    assert isinstance(caught.value, InvalidParamsError)
    assert "secret" not in caught.value.message + caught.value.hint
    assert caught.value.message


def test_development_permits_this_machine() -> None:
    """With the switch, http and any port are fine for this machine, but not for an address
    elsewhere.
    """
    assert parse_target("http://127.0.0.1:5000/hook", DEVELOPMENT).port == 5000
    assert parse_target("https://localhost:5000/hook", DEVELOPMENT).host == "localhost"
    with pytest.raises(UrlRefusedError):
        parse_target("http://93.184.216.34/", DEVELOPMENT)
    with pytest.raises(UrlRefusedError):
        parse_target("https://10.0.0.1/", DEVELOPMENT)
    with pytest.raises(UrlRefusedError) as caught:
        parse_target("https://93.184.216.34:22/", DEVELOPMENT)
    assert "A2A_OUTBOUND_PORTS" in caught.value.hint


@pytest.mark.parametrize(
    "url", ["https://localhost/", "https://LOCALHOST.:8443/", "https://app.localhost/"]
)
def test_names_of_this_machine_are_refused_when_they_are_set(url: str) -> None:
    """They need no lookup: RFC 6761 reserves them. A host that only begins like one does."""
    with pytest.raises(UrlRefusedError) as caught:
        parse_target(url, DEFAULT)
    assert "A2A_OUTBOUND_ALLOW_LOOPBACK" in caught.value.hint
    assert parse_target("https://localhost.example.com/", DEFAULT).host == "localhost.example.com"


def test_a_list_of_hosts_is_heeded() -> None:
    """A host that the operator has not listed is refused; the log names the setting."""
    policy = OutboundPolicy(hosts=frozenset({"example.com"}))
    assert parse_target("https://example.com/", policy).host == "example.com"
    with pytest.raises(UrlRefusedError) as caught:
        parse_target("https://example.net/", policy)
    assert "A2A_OUTBOUND_HOSTS" in caught.value.hint


def test_a_target_shows_no_secrets() -> None:
    """The text for logs has no path and no query, because webhooks keep their secrets there."""
    assert (
        str(parse_target("https://hooks.example.com/services/T0/secret?token=secret", DEFAULT))
        == "https://hooks.example.com"
    )

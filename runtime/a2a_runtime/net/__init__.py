"""Outbound HTTP to URLs chosen by clients: webhooks, and files that messages refer to.

    client ──── GET and POST with time and size limits; connection pool;
      │         connects to checked addresses, not to names
      │
    target ──── URL checks and errors
      │
    policy ──── SSRF policy: allowed addresses; pure, one table
    bounded ─── for the servers that the operator names: a body with a size limit
    authorities ── the certificate authorities that clients trust

The owner of a URL controls its name and can resolve it to a different address for every query.
Therefore the address of the connection is checked, never the name. Each redirect is checked like
the first URL. Proxies, cookies and credentials of the environment are not used.
"""

"""Agent cards: the documents that describe an agent to its clients.

cache ──── cards as bytes with ETag and Last-Modified, serialized once per base URL;
  │        the public URLs of surfaces
builder ── the canonical card of a surface, and the documents of its dialects
"""

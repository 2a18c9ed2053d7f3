"""Bytes of files as a2a-sdk 0.3 for Python has them over HTTP+JSON and gRPC.

Loaded where a surface has the variant ``double_base64``, or a client is made.
"""

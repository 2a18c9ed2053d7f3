"""Bytes of files as a2a-sdk 0.3 for Python has them over HTTP+JSON and gRPC."""

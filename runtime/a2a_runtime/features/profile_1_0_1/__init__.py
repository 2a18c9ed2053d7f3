"""The patch 1.0.1 of the protocol: its statuses of errors, and its media type.

Loaded where a surface has the variant ``1.0.1``.
"""

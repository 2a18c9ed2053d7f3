"""The generator: JSON Schemas and tables in, a typed Python package out.

Imports nothing, so a no-op build stays fast.
"""

__version__ = "0.1.0"

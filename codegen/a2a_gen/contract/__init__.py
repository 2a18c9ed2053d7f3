"""Build the package of a contract: the schemas and tables of a protocol."""

"""Python types of schemas: every type and every name is decided here."""

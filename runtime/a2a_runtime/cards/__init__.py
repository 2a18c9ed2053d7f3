"""The documents by which an agent makes itself known, from one declaration."""

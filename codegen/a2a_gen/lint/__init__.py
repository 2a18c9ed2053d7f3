"""Lint rules: what a schema can say and generated code cannot keep."""

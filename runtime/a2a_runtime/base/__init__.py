"""Base: values and helpers without I/O, which every other room may use."""

"""Input of the generator: files with line positions, references between them, and the project
configuration.
"""

"""Hand-written files that generated code needs; a build copies them, word for word, beside what it
generates.
"""

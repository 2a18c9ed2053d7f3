"""Conversion of the contract to the files of the package, one module per kind of output; every
``emit`` is pure.
"""

"""Checks of ``a2a-gen doctor``: each yields findings, and none stops the others.

findings   a finding: level, subject, problem, fix
project    the app or the project file, generated code, settings, keys
store      the store, its schema, its clock, the notifier
address    the public address and the card there, as clients see them
"""

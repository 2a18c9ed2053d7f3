"""Translations between the dialects of the protocol: corresponding types, corresponding members,
and the functions that convert them.

pairs    corresponding types        found by walking the operations and the table
  links    corresponding members      rules, then equal names; all others must be declared as lost
    members  matches of their types     a call, a list of calls, a conversion, or nothing
plan     a function per pair and direction, as steps
"""

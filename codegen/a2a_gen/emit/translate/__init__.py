"""Translations between the forms of the protocol: which types correspond, what becomes of each member, and the functions that do it.

pairs    which types correspond      walks from the operations and from the table
  links      which members             rules, then equal names; everything else must be declared as lost
    matches    what their types need     a call, a list of calls, a change of form, nothing
plan     a function per pair and direction, as steps
"""

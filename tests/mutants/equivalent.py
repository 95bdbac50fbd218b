"""Errors that are none: what they change, no result can show, and why.

Each is named by the function or the constant that it is in and by its change, as
`make mutants` prints them. What merely has no test does not belong here.
"""

EQUIVALENT = {}

"""A cluster in virtual time, made of the rules: what happens when, if these pods are moved.

Belongs here: state machines whose clock is a number, deterministic for the same input.
Never here: a real clock, choosing what should be done (that is `plan`).
"""

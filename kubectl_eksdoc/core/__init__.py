"""The pure heart: facts, rules, plans.

Belongs here: everything that can be computed from facts alone.
Never here: a clock, the environment, files, sockets, printing, an SDK, JSON.
"""

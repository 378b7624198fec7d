"""The drain plan: verdicts on pods, budgets and targets, the order of evictions, findings.

Belongs here: the effects of a drain and their reasons, decided from facts and the user's policy.
Never here: the behaviour of the API server (see `kubernetes`), the layout of a page (see `report`).
"""

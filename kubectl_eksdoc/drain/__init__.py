"""The drain plan: verdicts on pods, budgets and targets, the order of evictions, findings.

Belongs here: what a drain will do and why, decided from facts and the user's policy.
Never here: the behaviour of the server (that is `kubernetes`), how a page is laid out (that is `report`).
"""

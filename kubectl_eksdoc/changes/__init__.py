"""Changes of a cluster and of AWS, executed by one engine: journal entry before the request, steps, follow-up,
verification, result.

Belongs here: the engine, and the interface of a kind of change: its steps, its verification, its reversal. Never here:
requests, edges (a kind has ports), the decision whether a change is allowed (each feature's own).
"""

"""Changes of a cluster and of AWS, carried out by one engine: journal before the act, steps, follow, verify, result.

Belongs here: the engine, and for each kind of change its steps, what tells whether they hold, and what reverts them.
Never here: a request, an edge (a kind has ports), whether a change may be made (each feature decides that).
"""

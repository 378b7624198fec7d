"""``kubectl eksdoc drain``: the plan, the commands that drain nodes, and those that look after a run.

Belongs here: what was asked for, what must be typed, what is shown while it goes on.
Never here: who may be evicted (that is `drain.run`), a request to a cluster.
"""

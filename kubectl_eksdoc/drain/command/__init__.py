"""``kubectl eksdoc drain``: the commands that plan and run drains, and those that manage runs.

Belongs here: requests, typed confirmations, output during a run. Never here: eviction decisions (those are in
`drain.run`), requests to a cluster.
"""

"""How long a drain takes, how long it takes at least, and what would make it shorter.

Belongs here: seconds, learned, simulated and bounded.
Never here: what a pod or a budget allows; the simulation itself (that is `drain.simulation`).
"""

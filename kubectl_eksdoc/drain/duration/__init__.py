"""Duration of a drain: the estimate, lower bounds, and what would make it shorter.

Belongs here: seconds that are learned, simulated and bounded.
Never here: what a pod or a budget allows; the simulation itself (see `drain.simulation`).
"""

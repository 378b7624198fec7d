"""Who goes when: nodes in an order, evictions in rounds that no budget forbids.

Belongs here: turns, waves, and the reason for every position.
Never here: verdicts (they come in), seconds (they come later).
"""

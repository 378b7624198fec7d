"""A plan's last section: who owns each node, how it leaves, what comes in its place, what the owner would do.

Belongs here: node owners and their commands.
Never here: judging whether a node can be drained.
"""

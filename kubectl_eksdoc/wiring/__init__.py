"""The composition root: selects the implementation behind each port.

Belongs here: the outside of a command, assembled. Never here: decisions of a command; imports of edge packages outside
of functions, because the dependencies of one source (an SDK, decoding) must not slow down the start of another.
"""

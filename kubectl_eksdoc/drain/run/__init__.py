"""State machine of a running drain: observations and responses go in, actions come out. Also the state of a running
add-on update.

Belongs here: the meaning of every response, eviction order, when a node is drained, when to stop, what is journaled.
Never here: network, clock, threads, sleeping (the caller is told until when to wait).
"""

"""A drain that is under way, as a state machine: what was seen and answered goes in, what is to be done comes out. Also
an add-on's update that is.

Belongs here: what to make of every answer, who may go next, when a node is done, when to stop, what is journaled.
Never here: a network, a clock, a thread; how long to sleep (it is said until when to wait).
"""

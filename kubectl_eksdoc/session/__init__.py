"""Where facts come from: one session is one observation of a cluster, of the AWS side of it, and of what else it tells.

Belongs here: which source is read (the live cluster, a snapshot, a dump, the demo), what a command has to declare
before it is read, and that nothing is asked twice.
Never here: a decision of a command; imports of edges outside of functions, because what one source needs (an SDK,
decoding) must not cost another one its start-up.
"""

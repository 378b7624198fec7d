"""The composition root: which implementation stands behind each port.

Belongs here: what a command needs of the world, put together.
Never here: a decision of a command; imports of edges outside of functions, because what one source needs (an SDK,
decoding) must not cost another one its start-up.
"""

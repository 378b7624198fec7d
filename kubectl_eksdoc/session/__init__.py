"""Data sources of a command: one session is one observation of a cluster, of its AWS side and of its other APIs.

Belongs here: which source is read (the live cluster, a snapshot, a dump, the demo), what a command has to declare
before the source is read, and the cache that keeps every question from being asked twice.
Never here: a decision of a command; imports of edges outside of functions, because the dependencies of one source (an
SDK, decoding) must not add to the start-up time of another one.
"""

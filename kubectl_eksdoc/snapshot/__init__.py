"""A snapshot: everything that the reading commands ask of a cluster and of AWS, in a file, for offline use.

Belongs here: which requests are made for it, and the recording of the answers. Never here: which parts of an answer may
be saved (`kubernetes.redaction`, `objects.redaction`); the layout of the file (`host.dump`).
"""

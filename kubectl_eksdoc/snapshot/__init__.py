"""A snapshot: all that the reading commands ask of a cluster and of AWS, written to a file, to answer from it later.

Belongs here: what is asked for it, and the recording of the answers.
Never here: what of an answer may be written down (`kubernetes.redaction`, `objects.redaction`); how a file is
laid out (`host.dump`).
"""

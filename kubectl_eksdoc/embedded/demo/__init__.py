"""The demo cluster: a shop on EKS with planted traps and incidents, as a checked-in snapshot.

Belongs here: the snapshot (`data`, written by `tools.demo`: objects, logs and AWS responses, and the additions of each
scene), and its reader: the same bytes each time. Never here: generation of the snapshot, a clock, a network, anything
that a real cluster's answer depends on.
"""

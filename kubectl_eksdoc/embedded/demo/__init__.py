"""The built-in cluster: a shop on EKS with planted traps and incidents, as a checked-in snapshot.

Belongs here: the snapshot (`data`, written by `tools.demo`: objects, logs and answers of AWS, and what each scene adds
to them), and who reads it: the same bytes each time.
Never here: how the snapshot is made, a clock, a network, anything a real cluster's answer depends on.
"""

"""Carry a fix of the metadata service out: write down, ask, wait until it is in force, and read again what came of it.

Belongs here: in which order edges are asked, what is written down before and after, when it is given up.
Never here: which fixes exist, what became of a part (that is `imds_probe.run`), a request.
"""

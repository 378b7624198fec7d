"""Fleets: many clusters checked by one command (``--fleet``).

Belongs here: the choice of clusters, findings that many share, the one exit code, the page and flags. Never here: the
check of one cluster (each command's own plan).
"""

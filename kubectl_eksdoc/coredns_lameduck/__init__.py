"""Graceful shutdown and placement of CoreDNS: whether lookups are answered while its pods and nodes end.

Belongs here: the shutdown budget, and the findings about CoreDNS. Never here: the grammar of Corefiles (`kubernetes`),
requests to the cluster.
"""

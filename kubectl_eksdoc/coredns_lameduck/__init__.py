"""DNS that survives its nodes: whether CoreDNS answers while it leaves.

Belongs here: the shutdown budget, and what is judged of CoreDNS with it.
Never here: the grammar of Corefiles (that is `kubernetes`), asking the cluster.
"""

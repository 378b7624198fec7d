"""Whether DNS survives its nodes, in every format.

Belongs here: what of CoreDNS is shown, in which order and in which words.
Never here: what is judged (that is `coredns_lameduck`), what is asked of AWS or the cluster.
"""

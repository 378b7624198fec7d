"""``--in-cluster``: a command is not carried out here, but by Kubernetes objects that carry it out in the cluster.

Belongs here: the flags that say so, and how the objects are shown, confirmed and created.
Never here: what is to be run there (each command says that itself), what the objects look like.
"""

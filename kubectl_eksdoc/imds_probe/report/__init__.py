"""Reports of instance metadata access, in every format.

Belongs here: the selection, order and wording of causes, pods and findings. Never here: the behaviour of EC2, EKS or a
program (see `imds_probe`), requests to AWS or the cluster.
"""

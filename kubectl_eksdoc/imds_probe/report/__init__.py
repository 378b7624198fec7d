"""Who reaches the instance metadata service, in every format.

Belongs here: which causes, pods and findings are shown, in which order and in which words.
Never here: what EC2, EKS or a program does (that is `imds_probe`), what is asked of AWS or the cluster.
"""

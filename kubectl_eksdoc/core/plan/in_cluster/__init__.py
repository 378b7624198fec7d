"""The Kubernetes objects by which a command runs inside the cluster.

Belongs here: what a Job, its pod, its rights and its files are made of, as documents, from facts and wishes.
Never here: which rights a command has, a request, a format of output.
"""

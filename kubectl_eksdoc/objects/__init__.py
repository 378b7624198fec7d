"""Decoding of Kubernetes objects into facts, as an API server or ``kubectl get -o json`` prints them.

Belongs here: lean structs, their decoding by msgspec, and the projection to `model`; the lines of a run's journal,
because a file and the cluster both store them. Never here: the origin of the bytes, and any judgement of their content.
"""

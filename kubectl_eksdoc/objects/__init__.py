"""Kubernetes objects, as an API server or ``kubectl get -o json`` prints them, turned into facts.

Belongs here: lean structs, their decoding by msgspec, and the projection to `model`; the lines of a run's journal,
because a file and the cluster both hold them.
Never here: where the bytes come from, and any judgement of what they say.
"""

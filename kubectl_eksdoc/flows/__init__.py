"""Gather, decide, act: one flow per command, through ports.

Belongs here: the order in which ports are asked and features are called.
Never here: an SDK, a file, a terminal, a rule of Kubernetes.
"""

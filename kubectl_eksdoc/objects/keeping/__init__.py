"""Kubernetes objects as they may be written down: their known fields, and of those that can hold a secret what is
allowed.

Belongs here: shapes of the kinds that are read, as allow-lists of fields, and pages cleaned by them.
Never here: which keys and words are kept (`kubernetes.keeping`), and where pages come from or go to.
"""

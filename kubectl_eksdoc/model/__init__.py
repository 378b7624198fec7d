"""Nouns: what was observed (facts) and what is said about it (findings).

Belongs here: frozen dataclasses and the vocabulary they are made of.
Never here: a decision, an API object, a default that hides that something was not read.
"""

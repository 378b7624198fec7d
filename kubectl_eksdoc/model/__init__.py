"""Domain model: observed facts, and findings about them.

Belongs here: frozen dataclasses and the types of their fields. Never here: decisions, API objects, defaults that hide
that something was not read.
"""

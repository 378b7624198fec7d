"""Behavior of Kubernetes, as pure functions over facts.

Belongs here: behavior of a server, a controller or kubectl, with the upstream source named. Never here:
recommendations, reading, changes.
"""

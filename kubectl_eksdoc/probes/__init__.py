"""Short-lived pods of ours: they belong to one ConfigMap, are waited for, and are removed at the end.

Belongs here: what every command needs that makes such pods, and the finding that they are still there.
Never here: what runs in them and what their logs mean.
"""

"""Short-lived probe pods: a ConfigMap owns them, the command waits for them, and removes them at the end.

Belongs here: what all commands with such pods share, and the finding about pods that are still there. Never here: what
runs in them, and what their logs mean.
"""

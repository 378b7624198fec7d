"""What an update of an EKS add-on will really change.

Belongs here: configuration schemas and how they differ, configuration values and how they merge, what an update does to
fields that somebody set, who is hurt, the way out.
Never here: how server-side apply works (that is `core.rules.api`), asking AWS or a cluster, drains.
"""

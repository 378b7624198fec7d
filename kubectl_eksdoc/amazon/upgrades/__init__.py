"""What Kubernetes and EKS say of an upgrade: support calendar, removed APIs, skew, compatibility, release notes, AMIs.

Belongs here: tables with their sources and how sure they are, and pure functions that read them.
Never here: findings, remedies and whether a cluster may be upgraded (that is `plan`).
"""

"""Upgrade readiness of an EKS cluster: what blocks each step of an upgrade, and the upgrade steps in their order.

Belongs here: the registry of checks, the facts that each of them judges by, the checklist, suppressions.
Never here: reading, layout, tables of facts about versions (those are in `amazon`), decisions of the plans of other
commands (their findings are taken over unchanged).
"""

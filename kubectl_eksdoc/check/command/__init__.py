"""``kubectl eksdoc check``: whether a cluster may be upgraded.

Belongs here: its flags, what was asked of it, and which of its answers is printed.
Never here: any judgement (that is in check), any layout (that is in check.report).
"""

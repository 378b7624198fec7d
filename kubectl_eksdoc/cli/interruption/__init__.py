"""``kubectl eksdoc interruption``: whether Karpenter hears that EC2 takes a node back.

Belongs here: its flags, what was asked of it, and which of its answers is printed.
Never here: any judgement (that is in core.plan.interruption), any layout (that is in render.interruption).
"""

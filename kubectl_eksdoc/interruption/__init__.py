"""Interruption handling of Karpenter: whether it receives EC2 interruption events, the effect if not, and the repair.

Belongs here: the verdict on each link from EventBridge to Karpenter, the effect of the next interruption, the repair.
Never here: requests, JSON, YAML and tables; decisions of other plans.
"""

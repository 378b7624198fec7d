"""Rules of EKS, EC2 and Karpenter, as pure functions over facts.

Belongs here: behaviour of AWS, with its source. Never here: recommendations, reading, changes.
"""

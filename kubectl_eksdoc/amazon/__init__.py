"""What EKS, EC2 and Karpenter do, as pure functions over facts.

Belongs here: behaviour of AWS, with its source. Never here: what we think should be done, reading, acting.
"""

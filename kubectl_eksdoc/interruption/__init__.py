"""Whether Karpenter hears that EC2 takes a node back, what happens if it does not, and what is missing.

Belongs here: how each link from EventBridge to Karpenter is judged, what the next interruption takes, what repairs it.
Never here: requests, JSON, YAML and tables; what other plans decide.
"""

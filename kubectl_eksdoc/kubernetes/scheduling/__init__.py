"""Scheduling: whether a pod fits on a node. The filters of kube-scheduler's default profile, and the facts they need.

Belongs here: one file for each filter, with the scheduler's own messages, and the occupancy that the filters read.
Never here: scoring (which of several possible nodes is better), and handling of a pod that fits nowhere.
"""

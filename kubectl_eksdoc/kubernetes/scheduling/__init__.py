"""Can a pod be placed on a node: the filters of kube-scheduler's default profile, and what they need to know.

Belongs here: one file for each filter, answering in the scheduler's own words, and the occupancy they read.
Never here: which of several possible nodes is the better one, or what to do about a pod that fits nowhere.
"""

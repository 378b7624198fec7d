"""The controllers of kube-controller-manager that make, replace and remove what runs, on documents in virtual time.

Belongs here: one file for each controller, and what several of them share (owning, templates, pods, revisions).
Never here: the API server, the scheduler, kubelets, budgets; and anything that decides what should be drained.
"""

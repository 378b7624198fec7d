"""The controllers of kube-controller-manager that create, replace and remove objects, in virtual time.

Belongs here: one file for each controller, and their shared parts (ownership, templates, pods, revisions).
Never here: the API server, the scheduler, kubelets, budgets; and decisions about drains.
"""

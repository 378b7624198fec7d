"""Measuring DNS from pods while CoreDNS leaves: from which nodes, whom they ask, what happens meanwhile, what it means.

Belongs here: the choice of nodes and targets, the pods as data, what is read into the numbers.
Never here: making pods, sockets, waiting, and whether a Corefile is good.
"""

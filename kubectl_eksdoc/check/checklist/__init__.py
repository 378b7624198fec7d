"""The way of an upgrade as a checklist: what is done in which order, why, with which command, and when it is done.

Belongs here: steps as data, and where each stands, by facts about versions, skew, add-ons and who makes the nodes.
Never here: whether something stands against a step (checks say that; steps only name whose findings they wait for).
"""

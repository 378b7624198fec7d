"""A cluster without a cluster: the demo's objects, later a simulated API server.

Belongs here: objects made up to show and test the tool.
Never here: anything a real cluster's answer depends on.
"""

"""The active probe of the instance metadata service: on which nodes, in which pods, with which script, and what its
answers mean.

Belongs here: the script and the pods as data, the choice of nodes, the diagnosis.
Never here: making pods, reading logs, waiting, and what EC2 says of an instance's options (only held against it).
"""

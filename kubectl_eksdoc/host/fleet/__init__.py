"""The clusters of a fleet on this machine: the file that lists them, and a process for each.

Belongs here: starting, bounding and ending these processes, their environment, and what they answered.
Never here: which clusters there are, and what an answer is worth.
"""

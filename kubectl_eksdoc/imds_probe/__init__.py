"""Access to the instance metadata service (IMDS): affected pods, the cause, and the options of the next nodes.

Belongs here: verdicts for nodes and pods, causes, affected pods, and fixes. Never here: the effect of EC2's metadata
options (see `amazon.metadata_service`), AWS requests, network packets.
"""

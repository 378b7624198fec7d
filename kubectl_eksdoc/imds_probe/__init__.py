"""The instance metadata service of the nodes: who reaches it, why it is as it is, and what the next node will have.

Belongs here: verdicts for nodes and pods, causes, who suffers, and what to do about it.
Never here: what EC2 makes of options (that is `amazon.metadata_service`), asking AWS, sending packets.
"""

"""The AWS account of the demo's cluster: answers of AWS about it, in botocore's response shapes.

Belongs here: synthetic answers to the requests of the tool, consistent with the demo's nodes and applications, the same
each time, and refusals with AWS's own messages.
Never here: an SDK, a clock, a network, or anything that the answer of a real account depends on.
"""

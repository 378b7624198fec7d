"""The AWS account that the demo's cluster lives in: what AWS would answer about it, in botocore's response shapes.

Belongs here: made-up answers to the questions the tool asks, consistent with the demo's nodes and applications, the
same each time, and refusals in AWS's own words.
Never here: an SDK, a clock, a network, or anything that a real account's answer depends on.
"""

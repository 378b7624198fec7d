"""The active probe of the instance metadata service, in every format: what would be made, and what came of it.

Belongs here: which nodes, answers and findings are shown, in which order and in which words.
Never here: what answers mean (that is `imds_probe.probing`), making or reading pods.
"""

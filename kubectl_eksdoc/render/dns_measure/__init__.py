"""A measurement of DNS, in every format: what would be made and done, and what came of it, second by second.

Belongs here: which numbers, plots and findings are shown, in which order and in which words.
Never here: what the numbers mean (that is `coredns_lameduck.measuring`), making or reading pods.
"""

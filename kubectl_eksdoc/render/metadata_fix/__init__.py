"""Fixes of the metadata service: those to choose from, one that is to be carried out, and its result.

Belongs here: what of a fix is shown, in which order and in which words.
Never here: which fixes exist (that is `imds_probe.fixes`), carrying one out.
"""

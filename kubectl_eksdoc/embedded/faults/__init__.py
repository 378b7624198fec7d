"""The faults that users switch on by name, in one registry: help, documents and errors draw from it.

Belongs here: what a fault is called, does and takes, and which fault of requests (`embedded.serving.faults`) or trouble
of the cluster (`simulator.mishaps`) it is.
Never here: how either comes about.
"""

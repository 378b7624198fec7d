"""A fix of the metadata service that is carried out: what must be so before, what is kept of it, what came of it.

Belongs here: guards, documents of a journal, what is read again against what was meant.
Never here: which fixes exist (that is `core.plan.metadata.fixes`), a request, a clock, a file.
"""

"""The rehearsal of a drain in every format: what happened in virtual time, beside what the plan says.

Belongs here: what of a rehearsal is shown, in which order and in which words.
Never here: how a drain is rehearsed (that is `flows.rehearse`), what a plan says by itself (that is beside).
"""

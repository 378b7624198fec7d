"""Reports of add-on updates, planned and past, in every format.

Belongs here: the selection, order and wording of an update's fields, findings and commands. Never here: the effects of
an update (see `addon_diff`), requests to AWS or the cluster.
"""

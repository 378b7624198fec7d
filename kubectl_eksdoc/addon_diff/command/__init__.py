"""Command ``kubectl eksdoc addon-diff``: prediction and execution of an add-on update, past updates, Terraform plans.

Belongs here: the flags, the choice of the answer, the facts that all answers read. Never here: the effect on a field
(see `addon_diff`), a request to AWS.
"""

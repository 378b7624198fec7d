"""``kubectl eksdoc check``: command line of the upgrade check.

Belongs here: its flags, the request, and which result is printed.
Never here: any judgement (that is in check), any layout (that is in check.report).
"""

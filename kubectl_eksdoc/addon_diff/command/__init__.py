"""``kubectl eksdoc addon-diff`` and its faces: what an update will do, and whatever else is asked about one.

Belongs here: the flags, which face answers, what all of them read.
Never here: what becomes of a field (that is `addon_diff`), a request to AWS.
"""

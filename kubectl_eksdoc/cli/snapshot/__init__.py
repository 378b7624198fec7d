"""``kubectl eksdoc snapshot``.

Belongs here: its flags, and which file is written.
Never here: what is asked, and what of it may be written down.
"""

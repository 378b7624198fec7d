"""``kubectl eksdoc completion``: have kubectl, or a shell, ask what may be typed.

Belongs here: its commands, what they say, the scripts for shells.
Never here: what is offered at the cursor.
"""

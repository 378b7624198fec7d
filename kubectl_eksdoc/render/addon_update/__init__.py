"""An add-on's update that is to be carried out, or was, in every format.

Belongs here: what will be sent and the way back, what came of it, in which order and in which words.
Never here: what an update does (that is `addon_diff`), whether it may be sent (that is `addon_diff.run`).
"""

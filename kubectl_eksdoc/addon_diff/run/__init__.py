"""An add-on's update that is carried out: what is sent, what forbids it, how it stands, and what came of it.

Belongs here: which values go with the call, when it must not be sent, how far a rollout is, prediction against reality.
Never here: what becomes of a field (that is `addon_diff`), a request, a clock, a file.
"""

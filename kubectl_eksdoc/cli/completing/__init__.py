"""What kubectl and shells are answered when somebody presses Tab: ``kubectl eksdoc __complete WORDS… PARTIAL``.

Belongs here: what stands at the cursor, what is offered there, the lines of the answer.
Never here: how names are looked up in a cluster or on this machine.
"""

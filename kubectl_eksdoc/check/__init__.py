"""Whether a cluster may be upgraded: what stands against it, step by step, and in which order to go.

Belongs here: the registry of checks, what each of them judges by, the way as a checklist, what is suppressed.
Never here: reading, layout, tables of facts about versions (those are in `amazon`), what the plans of other
commands decide (their findings are taken over as they are).
"""

"""May this cluster be upgraded: what each check needs is gathered once, and judged.

Belongs here: in which order and how often the world is asked, and which other commands' plans are summed up.
Never here: what anything means.
"""

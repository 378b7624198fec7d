"""Which order is best: each is tried whole, with places and times, and the best is kept.

Belongs here: the search over orders, and what comes of the one that is chosen.
Never here: how an order is made, where pods land, how long it takes (that is below).
"""

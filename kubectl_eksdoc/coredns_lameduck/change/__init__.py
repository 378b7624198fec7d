"""Changing CoreDNS the durable way: what is wished, what it makes of the add-on's values, and why it is refused.

Belongs here: the new Corefile, affinity and values, whether pods would find a place, what speaks against a wish.
Never here: what an update of the add-on does to live fields (that is `addon_diff`), sending anything.
"""

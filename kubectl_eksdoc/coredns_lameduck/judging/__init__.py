"""What is found wrong with CoreDNS, or not known of it.

Belongs here: findings from facts, by what they are about.
Never here: in which order it is mended (`coredns_lameduck.plan`), what a change would be (`coredns_lameduck.change`).
"""

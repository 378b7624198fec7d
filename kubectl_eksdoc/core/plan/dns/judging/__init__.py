"""What is found wrong with CoreDNS, or not known of it.

Belongs here: findings from facts, by what they are about.
Never here: in which order it is mended (`core.plan.dns.plan`), what a change would be (`core.plan.dns.change`).
"""

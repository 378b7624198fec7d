"""Output of CoreDNS checks, Corefiles, changes and measurements, in every format.

Belongs here: which findings, values, commands and figures are shown, and in which order. Never here: verdicts, changes
and measurements (`coredns_lameduck`).
"""

"""CoreDNS, its Corefile, a change of it and a measurement, in every format.

Belongs here: which findings, values, commands and figures are shown, in which order and in which words.
Never here: how anything is judged, changed or measured (that is `coredns_lameduck`).
"""

"""What ``kubectl get`` shows: the server's own tables (kind Table, meta.k8s.io/v1), one printer for each kind.

Belongs here: columns and cells as upstream's pkg/printers/internalversion/printers.go prints them, ages included.
Never here: HTTP, storage, a clock (the moment is a parameter), and how wide a terminal is.

Names, formats and priorities of columns are upstream's.
"""

"""A run in real time: begun, gone on with on any machine, rolled back; written down before anything is done.

Belongs here: the order in which journal, lock, field and engine are asked.
Never here: who may go next (that is `drain.run`), a thread, a connection.
"""

"""The live cluster while it is drained: acts are done on it, and what changes in it is told.

From an act to its answer: `live` takes it, one of the threads of `workers` does it (`evictions`, `marking`, `reads`).
From a change to news: `watches` follows a resource (`lists`, then `streams`), `telling` words it, `live` hands it over.

Belongs here: requests of a run, their repetition where nothing can have been done, watches and their recovery.
Never here: what to ask for, and what an answer means.
"""

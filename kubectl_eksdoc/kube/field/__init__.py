"""The live cluster while it is drained: acts are done on it, and what changes in it is told.

From an act to its answer: `live` takes it, and one of its threads does it (`writes`, `reads`; `prior` is what a run
notes on nodes). From a change to news: `watches` lists a resource and follows it, `live` hands the news over.

Belongs here: requests of a run, their repetition where nothing can have been done, watches and their recovery.
Never here: what to ask for, and what an answer means.
"""

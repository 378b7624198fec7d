"""What the embedded API server says of itself and how it shows objects: discovery, tables, partial metadata.

Belongs here: pure functions from a catalogue and documents to the bodies of answers, each with the source of its rule.
Never here: HTTP, storage, a clock, and anything that changes an object.
"""

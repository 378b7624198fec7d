"""An answer of a command beside an earlier one of the same command: what is new, what is fixed, what is as it was.

Belongs here: telling clusters apart, pairing findings, what became of each, what either answer could not have said.
Never here: reading the saved file, making either answer, what one command alone looks at, words for a screen.
"""

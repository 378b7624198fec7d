"""An answer beside an earlier one in every format: what is new, what is fixed, what is as it was.

Belongs here: which of the changes are shown, in which order and in which words; how a finding is marked.
Never here: what counts as a change (that is `baseline`), the rest of the answer.
"""

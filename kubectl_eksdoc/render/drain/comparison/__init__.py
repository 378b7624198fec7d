"""A plan beside a saved one in every format: the same rows as a table, Markdown, HTML or JSON.

Belongs here: what of a comparison is shown, in which order and in which words.
Never here: what counts as a difference (that is `drain.comparison`), the rest of the plan.
"""

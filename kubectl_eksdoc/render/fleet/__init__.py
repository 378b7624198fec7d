"""Many clusters judged together, in every format.

Belongs here: which columns and sections are shown, in which words; how the document is written.
Never here: how rows are ordered and summed (that is `fleet`), how one cluster is shown.
"""

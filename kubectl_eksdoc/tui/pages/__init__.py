"""What fills the screen below the head: one file per page, each made of tables and text, shown from the model.

Belongs here: which parts a page has, and what it shows of the model.
Never here: what a key does (`tui.screen`), what stands in a row (`tui.sheets`).
"""

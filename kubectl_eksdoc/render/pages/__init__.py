"""What pages in HTML have in common, whatever they are of.

Belongs here: their frame from head to foot, their style, commands and advice as they are copied from a page.
Never here: what one page alone says, markup made without `render.html`.
"""

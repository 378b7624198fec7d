"""``-o html``: the plan as one page that needs nothing else, to be read in a browser or printed.

Belongs here: the page's sections and its style.
Never here: scripts, anything that is loaded from elsewhere, markup made without `render.html`.
"""

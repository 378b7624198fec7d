"""``-o html``: a check as one page that needs nothing else, for a manager and an auditor, on a screen and on paper.

Belongs here: the page's sections, what of very many findings it shows, and its style.
Never here: scripts, anything that is loaded from elsewhere, markup made without `render.pages`.
"""

"""What came of a drain, whether it was run or rehearsed, beside what the plan says.

Belongs here: what is shown of both alike: rows, titles, fields of the document, parts of the ticket.
Never here: what only a rehearsal says (`render.rehearsal`) or only a run (`render.run`).
"""

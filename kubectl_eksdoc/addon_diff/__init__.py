"""The update of an EKS add-on: what it will really change, who would notice, and how to keep what must stay.

Belongs here: predictions for each field and mode from live ownership, chart and schema; the values that change nothing.
Never here: how server-side apply works (that is `kubernetes`), asking AWS, carrying an update out.
"""

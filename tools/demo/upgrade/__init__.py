"""What comes to the demo where its upgrade is checked.

Belongs here: objects and answers of the API server that no other command reads.
Never here: how anything is judged, and AWS's answers (those are in demo.aws).
"""

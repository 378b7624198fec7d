"""What we decide: verdicts, order, findings.

Belongs here: pure functions from facts and policy to a plan as data.
Never here: reading, acting, text layout.
"""

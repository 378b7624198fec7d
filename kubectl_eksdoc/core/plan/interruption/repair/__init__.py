"""What is missing so that Karpenter hears of interruptions, as data: documents, a stack, steps.

Belongs here: what of it is missing, and the forms in which it can be made.
Never here: how a document is written down as JSON or YAML, how a command is quoted; any judgement.
"""

"""Whether Karpenter hears of interruptions, in every format; and what is missing, as documents.

Belongs here: which links, nodes and findings are shown, in which order and in which words; how documents are written.
Never here: what Karpenter, SQS or EventBridge do (that is `interruption`), what is asked of AWS or the
cluster.
"""

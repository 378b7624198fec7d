"""What AWS says of a cluster, as frozen facts, and the questions by which it is asked.

Belongs here: facts of EKS, EC2 and the services beside them; questions with the IAM actions they need.
Never here: boto3 and its dictionaries (they end in `kubectl_eksdoc.aws`), what follows from facts.
"""

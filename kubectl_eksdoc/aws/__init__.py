"""AWS, for one cluster. The only importer of `boto3`, which is loaded when something is asked first.

Whatever answers a question has `ask(question, parameters)`: `refusals` asks AWS, `recorded` what was written down, the
built-in demo what stands in it. `eks` makes facts of answers; `asking` checks first that they are about the cluster
that kubectl talks to.

Belongs here: credentials, requests, retries, paging, counting, errors in words, answers made facts.
Never here: a decision about what was read.
"""

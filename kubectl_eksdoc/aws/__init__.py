"""AWS API access for one cluster. The only importer of `boto3`, which is loaded with the first request.

Every `AwsClient` has `ask(operation, parameters)`: `refusals` sends it to AWS, `recorded` answers from a recording, the
demo from its data. `eks` decodes answers into facts; `asking` first verifies that they are about the cluster that
kubectl is connected to.

Belongs here: credentials, requests, retries, paging, counting, error messages, decoding of answers.
Never here: a decision about what was read.
"""

"""What Kubernetes declares of its own types: the table behind `kubernetes.api.structural`.

Belongs here: per type, the fields that are not plain, as in upstream's api/openapi-spec (x-kubernetes-list-type,
-list-map-keys, -map-type) and in the patchStrategy tags of k8s.io/api, 1.36; what an object holds before anyone writes.
Never here: how documents are merged or owned, and anything about custom resources.
"""

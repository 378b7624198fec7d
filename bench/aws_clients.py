"""Import boto3 and create the clients that a command needs: prints the seconds of both, in this process."""

from __future__ import annotations

import json
import sys
import time


def main(services: list[str]) -> None:
    begun = time.perf_counter()
    import boto3  # noqa: F401 - what the rest is measured beyond

    imported = time.perf_counter()
    from kubectl_eksdoc.aws.sessions import ServiceClients
    from kubectl_eksdoc.model.eks import AwsAccess

    keys = (("AWS_ACCESS_KEY_ID", "AKIA"), ("AWS_SECRET_ACCESS_KEY", "none"))
    clients = ServiceClients(AwsAccess("bench", "eu-west-1", settings=keys), lambda call: None, max_attempts=1)
    for service in services:
        clients.for_service(service)
    print(json.dumps({"boto3_s": imported - begun, "clients_s": time.perf_counter() - imported}))


if __name__ == "__main__":
    main(sys.argv[1:])

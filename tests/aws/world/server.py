"""The AWS stand-in: moto's server in this process, on a free port of loopback, patched and completed.

Its state is that of the process: one `World` per test session, reset between tests. Of moto's internals:
ThreadedMotoServer's application is wrapped before it serves; `moto_api_backend.reset` removes all state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from moto.eks import utils as roles
from moto.kms import models as keys
from moto.moto_api._internal.models import moto_api_backend
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from tests.aws.world import (
    callers,
    eks_calls,
    event_delivery,
    instance_metadata,
    nodegroups,
    paging,
    quotas,
    role_uses,
    stacks,
    templates_and_images,
    words,
)
from tests.aws.world.callers import ACCOUNT
from tests.aws.world.eks_state import EksState, state_of
from tests.aws.world.gate import Gate
from tests.aws.world.troubles import Trouble, Troubles
from tests.aws.world.words import Call, Refusal

REGION = "ap-northeast-2"


@cache
def _mend() -> None:
    """Complete and patch moto, once per process: a second time would wrap its wrapped methods again."""
    stacks.mend()
    eks_calls.register()
    for mended in (nodegroups, instance_metadata, templates_and_images, callers, event_delivery, quotas, role_uses):
        mended.mend()
    # A key is of RSA, whatever it is for: a tenth of a second each, and nothing here is signed with one. And for each
    # cluster and node group, botocore's list of all endpoints is read, to see whether its role is of a partition.
    keys.generate_private_key = cache(keys.generate_private_key)
    roles.Session = cache(roles.Session)


def _application(service: Any) -> Any:
    """moto's Flask application of one service; an unexpected exception is printed, and answered with 500."""
    application = create_backend_app(service)
    application.config["PROPAGATE_EXCEPTIONS"] = True
    return application


class Applications(DomainDispatcherApplication):
    """The application of each service. moto lists its own folders for every request; here it is found once for each
    host."""

    def __init__(self) -> None:
        super().__init__(_application)
        self._backends: dict[str | None, Any] = {}

    def get_backend_for_host(self, host: str | None) -> Any:
        if host not in self._backends:
            self._backends[host] = super().get_backend_for_host(host)
        return self._backends[host]


class QuietHandler(MotoRequestHandler):
    """A handler that does not log each request to stderr."""

    def log_request(self, *_: Any) -> None:
        """Log nothing: tests count calls by `World.calls`."""


class World:
    """AWS at `endpoint`. Operations have names such as ``eks:DescribeAddon``; * and ? are wildcards. Mutable."""

    def __init__(self) -> None:
        _mend()
        self._troubles = Troubles()
        # Models are read once per session, and making clients in several threads is not safe.
        self._session, self._clients = boto3.session.Session(), threading.Lock()
        self._known: dict[tuple[str, str, str], Any] = {}
        gate = Gate(Applications(), self._troubles)
        self._server = make_server("127.0.0.1", 0, gate, threaded=True, request_handler=QuietHandler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self._troubles.clear()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reset(self) -> None:
        """Reset to an empty state without faults."""
        self._troubles.clear()
        paging.most = 100
        moto_api_backend.reset()

    def environ(self, account: str = ACCOUNT, region: str = REGION) -> dict[str, str]:
        """Environment variables by which an AWS client in another process sends its requests here, as this account's
        user."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": callers.access_key(account),
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        }

    def client(self, service: str, account: str = ACCOUNT, region: str = REGION, **config: Any) -> Any:
        """The official client, without retries, shared by all tests; a client with `config` (botocore's) is created for
        each call."""
        with self._clients:
            if config:
                return self._made(service, account, region, config)
            known = self._known.get((service, account, region))
            if known is None:
                known = self._known[service, account, region] = self._made(service, account, region, {})
            return known

    def _made(self, service: str, account: str, region: str, config: dict[str, Any]) -> Any:
        return self._session.client(
            service,
            endpoint_url=self.endpoint,
            region_name=region,
            aws_access_key_id=callers.access_key(account),
            aws_secret_access_key="secret",
            config=Config(**{"retries": {"total_max_attempts": 1}, "proxies": {}, **config}),
        )

    def eks(self, account: str = ACCOUNT, region: str = REGION) -> EksState:
        """The state of EKS: end updates, add insights, offer add-on versions."""
        from moto.eks.models import eks_backends

        return state_of(eks_backends[account][region])

    def hold_metadata(self, held: bool = True, account: str = ACCOUNT, region: str = REGION) -> None:
        """Whether modified metadata options stay `pending`."""
        from moto.ec2.models import ec2_backends

        instance_metadata.hold(ec2_backends[account][region], held)

    def count_fetches(self, queue: str, empty: int = 0, deleted: int = 0, region: str = REGION) -> None:
        """Set what CloudWatch counts, now, for a queue that has a reader."""
        for metric, value in (("NumberOfEmptyReceives", empty), ("NumberOfMessagesDeleted", deleted)):
            if value:
                event_delivery.count(ACCOUNT, region, "AWS/SQS", metric, "QueueName", queue, value)

    def forget_counts(self, region: str = REGION) -> None:
        """Remove all counts of CloudWatch."""
        from moto.cloudwatch.models import cloudwatch_backends

        cloudwatch_backends[ACCOUNT][region].metric_data.clear()

    def happened(self, *events: dict[str, Any], region: str = REGION) -> None:
        """Add an event to CloudTrail, as `role_uses.event` makes it."""
        from moto.cloudtrail.models import cloudtrail_backends

        role_uses.happened(cloudtrail_backends[ACCOUNT][region], *events)

    def accessed(self, role: str, services: dict[str, datetime | None], looks: int = 0, fails: str = "") -> None:
        """Set IAM's report on that role: when each service was last used. It is in progress for so many `looks`."""
        from moto.iam.models import iam_backends

        role_uses.accessed(iam_backends[ACCOUNT]["aws"], role, services, looks, fails)

    def publish_image(
        self, name: str, imds_support: str | None = None, description: str = "", region: str = REGION
    ) -> str:
        """Publish an image of Amazon (owner alias `amazon`) and return its id; `imds_support`: "v2.0", or None."""
        from moto.ec2.models import ec2_backends

        return templates_and_images.publish(ec2_backends[ACCOUNT][region], name, imds_support, description)

    def publish_parameter(self, name: str, value: str, region: str = REGION) -> None:
        """Publish a public parameter below /aws/service/: moto lets no client do that, so it is added to the backend's
        own list."""
        from moto.core.utils import utcnow
        from moto.ssm.models import Parameter, ssm_backends

        made = Parameter(ACCOUNT, name, value, "String", None, None, None, utcnow(), 1, "text")
        ssm_backends[ACCOUNT][region]._parameters[name].append(made)

    def set_quota(self, service: str, code: str, value: float, region: str = REGION) -> None:
        """Set a quota that the account was granted, by its code (``ec2``, ``L-1216C47A``)."""
        from moto.servicequotas.models import servicequotas_backends

        quotas.put(servicequotas_backends[ACCOUNT][region], service, code, value)

    def use_quota(self, used: float, region: str = REGION, **dimensions: str) -> None:
        """Set the use of a quota that CloudWatch counts (AWS/Usage), now."""
        from moto.cloudwatch.models import cloudwatch_backends

        named = [{"Name": name, "Value": value} for name, value in dimensions.items()]
        datum = {"MetricName": "ResourceCount", "Value": used, "Dimensions": named}
        cloudwatch_backends[ACCOUNT][region].put_metric_data("AWS/Usage", [datum])

    def put_endpoint(self, cluster: str, url: str) -> None:
        """Set the address of a cluster's API server: moto gives all clusters the same one."""
        from moto.eks.models import eks_backends

        eks_backends[ACCOUNT][REGION].clusters[cluster].endpoint = url

    # Faults

    def throttle(self, operation: str, times: int | None = None) -> None:
        self.refuse(operation, words.throttled, times)

    def deny(self, *operations: str) -> None:
        """Deny these operations, in each service's own code and message with the IAM action."""
        for operation in operations:
            self.refuse(operation, words.denied)

    def allow(self) -> None:
        """Remove all faults; the other state stays."""
        self._troubles.wanted.clear()

    def expire(self, operation: str = "*", times: int | None = None) -> None:
        self.refuse(operation, words.expired, times)

    def fail(self, operation: str, code: str, message: str, status: int = 500, times: int | None = None) -> None:
        self.refuse(operation, lambda _: Refusal(code, status, message), times)

    def refuse(self, operation: str, refusal: Callable[[Call], Refusal], times: int | None = None) -> None:
        """Refuse the next `times` calls of the operation (None: all), unless a newer fault matches."""
        self._troubles.add(Trouble(operation, refusal, left=times))

    def hang_up(self, operation: str, times: int | None = None) -> None:
        """Close the connection instead of answering."""
        self._troubles.add(Trouble(operation, left=times))

    def pages(self, size: int) -> None:
        """Limit each page of EKS to so many items, whatever the request says."""
        paging.most = size

    # Recorded calls

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls since the reset, in order, including refused ones and the tests' own."""
        return tuple(self._troubles.calls)

    def count(self, operation: str) -> int:
        return sum(call.name == operation for call in self.calls)

    def forget_calls(self) -> None:
        """Reset the list of calls."""
        self._troubles.calls.clear()

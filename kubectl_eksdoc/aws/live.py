"""AWS itself, asked through boto3, which is loaded with the first question."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.aws.asking import AT_ONCE, Json
from kubectl_eksdoc.core.model.aws.access import AwsAccess
from kubectl_eksdoc.core.model.aws.questions import Question
from kubectl_eksdoc.core.rules.keeping.secrets import hidden
from kubectl_eksdoc.errors import AwsDenied, AwsError, UsageError

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.sessions import Clients


TRIES = 6


class LiveAws:
    """An `asking.Aws`. Mutable: `calls` counts what was sent, by ``eks:DescribeAddon``; a page is a call."""

    def __init__(
        self,
        access: AwsAccess,
        endpoint: str = "",
        tries: int = TRIES,
        ask_person: Callable[[str], str] | None = None,
    ) -> None:
        """`endpoint`: the URL that is asked instead of AWS's own; `tries`: how often what is throttled or lost is sent;
        `ask_person`: for the code of a device that a role wants, None where nobody can be asked.

        Raises:
            UsageError: nothing says which region.
        """
        if not access.region:
            access = replace(access, region=_region_of(access))
        if not access.region:
            raise UsageError(
                "nothing says in which AWS region the cluster is: not the kubeconfig, not AWS_REGION, not the profile",
                "Give --region, or write the kubeconfig anew: aws eks update-kubeconfig --name NAME --region REGION.",
            )
        self.access = access
        self.calls: Counter[str] = Counter()
        self._denied: set[str] = set()
        self._endpoint = endpoint
        self._tries = tries
        self._ask_person = ask_person
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._clients: Clients | None = None

    @property
    def said(self) -> str:
        """What was sent, in a line: ``3 calls of AWS: eks:DescribeAddon 2, sts:GetCallerIdentity 1``."""
        with self._lock:
            calls = sorted(self.calls.items())
        each = ", ".join(f"{name} {count}" for name, count in calls)
        return f"{sum(count for _, count in calls)} calls of AWS{f': {each}' if each else ''}"

    def ask(self, question: Question, parameters: Mapping[str, Any]) -> Json:
        """As `asking.Aws.ask`."""
        from botocore.exceptions import BotoCoreError, ClientError

        from kubectl_eksdoc.aws.troubles import not_had, told

        try:
            with self._slots:  # however many ask: lists within lists do
                return self._asked(question, dict(parameters))
        except (BotoCoreError, ClientError) as error:
            trouble = told(error, question, self.access)
            if isinstance(trouble, AwsDenied):
                self._refused(trouble.missing)
            raise trouble from error
        except (OSError, EOFError, RuntimeError) as error:  # botocore's own are told above
            raise not_had(error, self.access) from error
        except ValueError as error:  # an endpoint or a region that is no name at all
            raise AwsError(f"cannot ask {question.service} in {self.access.region}: {hidden(str(error))}") from error

    @property
    def denied(self) -> tuple[str, ...]:
        """The actions of IAM that were refused so far, sorted."""
        with self._lock:
            return tuple(sorted(self._denied))

    def _refused(self, action: str) -> None:
        with self._lock:
            self._denied |= {action} - {""}

    def _asked(self, question: Question, parameters: dict[str, Any]) -> Json:
        from botocore import xform_name

        client = self._opened().of(question.service)
        method = xform_name(question.operation)
        if question.listed and client.can_paginate(method):
            whole: Json = client.get_paginator(method).paginate(**parameters).build_full_result()
        else:
            whole = getattr(client, method)(**parameters)
        whole.pop("ResponseMetadata", None)
        return whole

    def _opened(self) -> Clients:
        with self._lock:
            if self._clients is None:
                from kubectl_eksdoc.aws.sessions import Clients

                self._clients = Clients(self.access, self._count, self._tries, self._endpoint, self._ask_person)
            return self._clients

    def _count(self, call: str) -> None:
        with self._lock:
            self.calls[call] += 1


def _region_of(access: AwsAccess) -> str:
    """The profile's own, as awscli takes it where nothing else says one."""
    from kubectl_eksdoc.aws.sessions import region_of

    return region_of(access.profile, dict(access.settings))

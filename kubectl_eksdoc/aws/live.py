"""AWS itself, asked through boto3, which is loaded with the first question."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.aws.asking import AT_ONCE, Json
from kubectl_eksdoc.aws.refusals import shown
from kubectl_eksdoc.bounds import AnswerLimits, DeadlineExceeded, ReadTime, in_time
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsRefused, UsageError
from kubectl_eksdoc.model.aws.access import AwsAccess
from kubectl_eksdoc.model.aws.questions import AwsOperation

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.sessions import Clients


TRIES = 6
SILENCE_S = 30.0
ANSWER_BYTES = 128 << 20
"""Of all pages of an answer: 5,000 instances have some 40 MiB."""


_NO_AWS = "Is this an address of AWS, and is no proxy in between?"
_LONGEST = 300
"""Characters of what botocore says of an answer, which it repeats."""


class LiveAws:
    """An `asking.Aws`. Mutable: `calls` counts what was sent, by ``eks:DescribeAddon``; a page is a call."""

    def __init__(
        self,
        access: AwsAccess,
        endpoint: str = "",
        tries: int = TRIES,
        ask_person: Callable[[str], str] | None = None,
        read_time: ReadTime | None = None,
        read_timeout: float = 0.0,
    ) -> None:
        """`endpoint`: the URL that is asked instead of AWS's own; `tries`: how often what is throttled or lost is sent;
        `ask_person`: for the code of a device that a role wants, None where nobody can be asked; of `read_time` all
        reading may take `read_timeout`, 0: any.

        Raises:
            UsageError: nothing says which region.
        """
        if not access.region:
            access = replace(access, region=_region_of(access))
        if not access.region:
            raise UsageError(
                "nothing says in which AWS region the cluster is: not the kubeconfig, not AWS_REGION, not the profile",
                ("Give --region, or update the kubeconfig: aws eks update-kubeconfig --name NAME --region REGION."),
            )
        self.access = access
        self.calls: Counter[str] = Counter()
        self._denied: set[str] = set()
        self._endpoint = endpoint
        self._tries = tries
        self._ask_person = ask_person
        self._read_time = read_time or ReadTime()
        self._read_timeout = read_timeout
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

    def ask(self, question: AwsOperation, parameters: Mapping[str, Any]) -> Json:
        """As `asking.Aws.ask`."""
        from botocore.exceptions import BotoCoreError, ClientError

        from kubectl_eksdoc.aws.refusals import not_had, told

        try:
            with self._read_time.counted(), self._slots:  # however many ask: lists within lists do
                return self._in_time(question, dict(parameters))
        except (BotoCoreError, ClientError) as error:
            trouble = told(error, question, self.access)
            if isinstance(trouble, AwsDenied):
                self._refused(trouble.missing)
            raise trouble from error
        except (OSError, EOFError, RuntimeError) as error:  # botocore's own are told above
            raise not_had(error, self.access) from error
        except ValueError as error:  # an endpoint or a region that is no name at all
            raise AwsError(f"cannot ask {question.service} in {self.access.region}: {shown(str(error))}") from error

    def _in_time(self, question: AwsOperation, parameters: dict[str, Any]) -> Json:
        """In a thread of its own: botocore also waits between tries, and for programs that print credentials."""
        left_s = self._left_s()
        if left_s <= 0:
            raise self._too_long()
        bounds = AnswerLimits(monotonic, SILENCE_S, monotonic() + left_s)
        bounds.body(ANSWER_BYTES)
        try:
            return in_time(bounds, lambda: self._asked(question, parameters))
        except Exception as error:
            if bounds.full:
                what = f"{question.service}:{question.operation}"
                more = f"the answer to {what} has more than {ANSWER_BYTES >> 20} MiB"
                raise AwsError(more, _NO_AWS) from error
            if bounds.over or isinstance(error, DeadlineExceeded):
                raise self._too_long() from error
            raise

    def _left_s(self) -> float:
        return self._read_time.left_s(self._read_timeout) if self._read_timeout else inf

    def _too_long(self) -> AwsError:
        return AwsError(
            f"AWS and the cluster cannot be read within {self._read_timeout:g} s",
            "AWS is slow, throttles, or does not end its answers. Allow more with --read-timeout TIME.",
        )

    @property
    def denied(self) -> tuple[str, ...]:
        """The actions of IAM that were refused so far, sorted."""
        with self._lock:
            return tuple(sorted(self._denied))

    def _refused(self, action: str) -> None:
        with self._lock:
            self._denied |= {action} - {""}

    def _asked(self, question: AwsOperation, parameters: dict[str, Any]) -> Json:
        from botocore import xform_name
        from botocore.parsers import ResponseParserError

        client = self._opened().of(question.service)
        method = xform_name(question.operation)
        call = getattr(client, method)
        try:
            if question.listed and client.can_paginate(method):
                whole: Json = client.get_paginator(method).paginate(**parameters).build_full_result()
            else:
                whole = call(**parameters)
        # What botocore raises of what it parses.
        except (RecursionError, AttributeError, TypeError, KeyError, ResponseParserError) as error:
            what = f"{question.service}:{question.operation}"
            why = shown(repr(error))[:_LONGEST]
            raise AwsRefused(f"the answer to {what} is not what it should be: {why}", _NO_AWS) from error
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

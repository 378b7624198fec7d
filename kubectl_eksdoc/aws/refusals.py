"""AWS requests through boto3, and AWS errors as messages: the failed operation, its resource, what to try.

Error codes: each service's own list of common errors; botocore's retry tables (throttling).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from botocore import exceptions as raised

from kubectl_eksdoc.bounds import AnswerLimits, DeadlineExceeded, ReadTime, in_time
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsLogin, AwsMissing, AwsRefused, AwsThrottled, UsageError
from kubectl_eksdoc.held_secrets import without_held
from kubectl_eksdoc.kubernetes.redaction import hidden
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.eks import AwsAccess

from .asking import AT_ONCE, Json

if TYPE_CHECKING:
    from .sessions import Clients


_DENIED = frozenset(
    (
        "AccessDenied",
        "AccessDeniedException",
        "AuthorizationError",
        "KmsAccessDenied",
        "NotAuthorized",
        "UnauthorizedException",
        "UnauthorizedOperation",
    )
)
_EXPIRED = frozenset(("ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"))
"""The third code is EC2's, also for a wrong clock."""
_NOT_ACCEPTED = frozenset(
    (
        "AuthFailure",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "OptInRequired",
        "RegionDisabledException",
        "UnrecognizedClientException",
    )
)
_CLOCK = frozenset(("InvalidSignatureException", "RequestTimeTooSkewed", "SignatureDoesNotMatch"))
_THROTTLED = frozenset(
    (
        "EC2ThrottledException",
        "PriorRequestNotComplete",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottledException",
        "ThrottlingException",
        "TooManyRequestsException",
    )
)
_MISSING = frozenset(
    (
        "AWS.SimpleQueueService.NonExistentQueue",
        "NoSuchEntity",
        "ParameterNotFound",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
    )
)


def refused(code: str, message: str, question: AwsOperation, access: AwsAccess) -> AwsError:
    """The error for a code and message of AWS. The message of a wrong signature contains the session token."""
    who, message = named(access), shown(message)
    if code in _DENIED:
        action = question.action or f"{question.service}:{question.operation}"
        return AwsDenied(
            f"IAM does not allow {who} {action}",
            f"AWS says: {message}",
            action,
        )
    if code in _EXPIRED:
        return AwsLogin(
            f"the credentials of {who} have expired", f"{log_in(access)} Is the clock of this machine right?"
        )
    if code in _NOT_ACCEPTED:
        return AwsLogin(
            f"AWS does not accept the credentials of {who} in {access.region}: {message}",
            f"{log_in(access)} A region that is not enabled in the account refuses all credentials, too.",
        )
    if code in _CLOCK:
        return AwsLogin(
            f"AWS does not accept the signature of {who}: {message}",
            "Is the clock of this machine right? Else the secret key is not the one of the access key.",
        )
    if code in _THROTTLED:
        return AwsThrottled(
            f"AWS was asked too often for {question.service}:{question.operation}, and waiting did not help",
            "Try again in a minute; another client may be sending the same requests in this account.",
        )
    if code in _MISSING or (code.endswith(("NotFound", "NotFoundException")) and not code.upper().startswith("KMS")):
        return AwsMissing(message, f"Asked was {question.service} in {access.region}, as {who}.", code)
    what = f"{question.service}:{question.operation}"
    return AwsRefused(f"AWS does not answer {what}: {code}: {message}", code=code)


def shown(message: str) -> str:
    """A message of AWS, botocore or a credential program, without secrets."""
    return hidden(without_held(message))


def named(access: AwsAccess) -> str:
    """The profile or role of the credentials."""
    profile = f"profile {access.profile!r}" if access.profile else "the default profile"
    return f"{access.role} (assumed from {profile})" if access.role else profile


def log_in(access: AwsAccess) -> str:
    """What to try where the credentials are not accepted."""
    profile = f" --profile {access.profile}" if access.profile else ""
    return f"Log in again: aws sso login{profile}, or whatever gives you credentials; --profile names another profile."


# Exceptions of botocore as errors: no credentials, no network, and error responses of AWS.


_SSO = tuple(
    getattr(raised, name) for name in ("LoginError", "SSOError", "TokenRetrievalError") if hasattr(raised, name)
)
"""Also for a missing or rejected token; older botocore versions do not know `aws login`."""


def told(error: Exception, question: AwsOperation, access: AwsAccess) -> AwsError:
    """The error for any exception that botocore raises during a question."""
    if isinstance(error, raised.ClientError):
        said = error.response.get("Error", {})
        if error.operation_name != question.operation:
            # The refused operation is not the question, but one that botocore calls to get credentials for it.
            return AwsLogin(
                f"the credentials of {named(access)} cannot be had: {error.operation_name} is refused: "
                f"{said.get('Code', '')}: {shown(str(said.get('Message', '')))}",
                f"May you assume the role (sts:AssumeRole, and its trust policy)? {log_in(access)}",
            )
        code = str(said.get("Code", ""))
        return refused(code, str(said.get("Message", "")) or code, question, access)
    login = _login(error, access)
    if login is not None:
        return login
    where = f"{question.service} in {access.region}"
    if isinstance(error, (raised.HTTPClientError, raised.ConnectionError)):
        return AwsError(
            f"cannot ask {where}: {_brief(error)}",
            f"Is {access.region} the region, and does this machine reach it (HTTPS_PROXY, VPN)?",
        )
    return AwsError(f"cannot ask {where} for {question.operation}: {_brief(error)}")


def not_had(error: Exception, access: AwsAccess) -> AwsLogin:
    """The error of a credential program or file, or of an MFA code that no user can be asked for."""
    return AwsLogin(
        f"the credentials of {named(access)} cannot be had: {_brief(error) or type(error).__name__}", log_in(access)
    )


def _login(error: Exception, access: AwsAccess) -> AwsLogin | None:
    if isinstance(error, raised.ProfileNotFound):
        return AwsLogin(
            f"there is no AWS profile {access.profile!r} on this machine",
            "aws configure list-profiles shows those that are there; give one with --profile.",
        )
    if isinstance(error, _SSO):
        return AwsLogin(f"the login of {named(access)} cannot be used: {_brief(error)}", log_in(access))
    if isinstance(error, (raised.NoCredentialsError, raised.PartialCredentialsError)):
        return AwsLogin(f"there are no AWS credentials for {named(access)}", log_in(access))
    if isinstance(
        error,
        (raised.CredentialRetrievalError, raised.MissingDependencyException, raised.RefreshWithMFAUnsupportedError),
    ):
        return AwsLogin(f"the credentials of {named(access)} cannot be had: {_brief(error)}", log_in(access))
    return None


def _brief(error: Exception) -> str:
    """The message on one line, without secrets: that of a proxy contains its URL."""
    return shown(" ".join(str(error).split()))


# AWS through boto3, which is loaded with the first question.


TRIES = 6
SILENCE_S = 30.0
ANSWER_BYTES = 128 << 20
"""Of all pages of a response: 5,000 instances have some 40 MiB."""


_NO_AWS = "Is this an address of AWS, and is no proxy in between?"
_LONGEST = 300
"""Characters of botocore's message about a response, which it repeats."""


class LiveAws:
    """An `asking.AwsClient` for AWS. Mutable: `calls` counts requests, by ``eks:DescribeAddon``; a page is a call."""

    def __init__(
        self,
        access: AwsAccess,
        endpoint: str = "",
        tries: int = TRIES,
        ask_person: Callable[[str], str] | None = None,
        read_time: ReadTime | None = None,
        read_timeout: float = 0.0,
    ) -> None:
        """`endpoint`: a URL to use instead of AWS's own; `max_attempts`: of a request that is throttled or lost;
        `ask_person`: reads an MFA code for a role, None where no user can be asked; `read_timeout`: seconds that all
        reading may take of `read_time`, 0: no limit.

        Raises:
            UsageError: the region is not known.
        """
        if not access.region:
            from .sessions import region_of

            # The region of the profile, which awscli uses where no other source names one.
            access = replace(access, region=region_of(access.profile, dict(access.settings)))
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
        """The requests in a line: ``3 calls of AWS: eks:DescribeAddon 2, sts:GetCallerIdentity 1``."""
        with self._lock:
            calls = sorted(self.calls.items())
        each = ", ".join(f"{name} {count}" for name, count in calls)
        return f"{sum(count for _, count in calls)} calls of AWS{f': {each}' if each else ''}"

    def ask(self, question: AwsOperation, parameters: Mapping[str, Any]) -> Json:
        """As `asking.AwsClient.ask`."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            with self._read_time.counted(), self._slots:  # limits nested concurrent questions, too
                return self._in_time(question, dict(parameters))
        except (BotoCoreError, ClientError) as error:
            trouble = told(error, question, self.access)
            if isinstance(trouble, AwsDenied):
                with self._lock:
                    self._denied |= {trouble.missing} - {""}
            raise trouble from error
        except (OSError, EOFError, RuntimeError) as error:  # botocore's own are handled above
            raise not_had(error, self.access) from error
        except ValueError as error:  # an endpoint or a region with an invalid name
            raise AwsError(f"cannot ask {question.service} in {self.access.region}: {shown(str(error))}") from error

    def _in_time(self, question: AwsOperation, parameters: dict[str, Any]) -> Json:
        """In a separate thread: botocore also waits between attempts, and for programs that print credentials."""
        left_s = self._read_time.left_s(self._read_timeout) if self._read_timeout else inf
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

    def _too_long(self) -> AwsError:
        return AwsError(
            f"AWS and the cluster cannot be read within {self._read_timeout:g} s",
            "AWS is slow, throttles, or does not end its answers. Allow more with --read-timeout TIME.",
        )

    @property
    def denied(self) -> tuple[str, ...]:
        """The IAM actions that were refused so far, sorted."""
        with self._lock:
            return tuple(sorted(self._denied))

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
        # Exceptions of botocore's own parsing.
        except (RecursionError, AttributeError, TypeError, KeyError, ResponseParserError) as error:
            what = f"{question.service}:{question.operation}"
            why = shown(repr(error))[:_LONGEST]
            raise AwsRefused(f"the answer to {what} is not what it should be: {why}", _NO_AWS) from error
        whole.pop("ResponseMetadata", None)
        return whole

    def _opened(self) -> Clients:
        with self._lock:
            if self._clients is None:
                from .sessions import Clients

                self._clients = Clients(self.access, self._count, self._tries, self._endpoint, self._ask_person)
            return self._clients

    def _count(self, call: str) -> None:
        with self._lock:
            self.calls[call] += 1

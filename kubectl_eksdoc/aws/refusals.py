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

from kubectl_eksdoc.bounds import DeadlineExceeded, ReadTime, ResponseLimits, run_within
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsLogin, AwsMissing, AwsRefused, AwsThrottled, UsageError
from kubectl_eksdoc.held_secrets import redact_held
from kubectl_eksdoc.kubernetes.redaction import redact_message
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.eks import AwsAccess

from .asking import MAX_CONCURRENT_REQUESTS, Json

if TYPE_CHECKING:
    from .sessions import ServiceClients


_DENIED_CODES = frozenset(
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
_EXPIRED_CODES = frozenset(("ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"))
"""The third code is EC2's, also for a wrong clock."""
_INVALID_CREDENTIAL_CODES = frozenset(
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
_SIGNATURE_CODES = frozenset(("InvalidSignatureException", "RequestTimeTooSkewed", "SignatureDoesNotMatch"))
_THROTTLING_CODES = frozenset(
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
_MISSING_CODES = frozenset(
    (
        "AWS.SimpleQueueService.NonExistentQueue",
        "NoSuchEntity",
        "ParameterNotFound",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
    )
)


def error_of_code(code: str, message: str, operation: AwsOperation, access: AwsAccess) -> AwsError:
    """The error for a code and message of AWS. The message of a wrong signature contains the session token."""
    identity, message = credentials_name(access), redacted_message(message)
    if code in _DENIED_CODES:
        action = operation.action or f"{operation.service}:{operation.operation}"
        return AwsDenied(
            f"IAM does not allow {identity} {action}",
            f"AWS says: {message}",
            action,
        )
    if code in _EXPIRED_CODES:
        return AwsLogin(
            f"the credentials of {identity} have expired", f"{login_hint(access)} Is the clock of this machine right?"
        )
    if code in _INVALID_CREDENTIAL_CODES:
        return AwsLogin(
            f"AWS does not accept the credentials of {identity} in {access.region}: {message}",
            f"{login_hint(access)} A region that is not enabled in the account refuses all credentials, too.",
        )
    if code in _SIGNATURE_CODES:
        return AwsLogin(
            f"AWS does not accept the signature of {identity}: {message}",
            "Is the clock of this machine right? Else the secret key is not the one of the access key.",
        )
    if code in _THROTTLING_CODES:
        return AwsThrottled(
            f"AWS was asked too often for {operation.service}:{operation.operation}, and waiting did not help",
            "Try again in a minute; another client may be sending the same requests in this account.",
        )
    if code in _MISSING_CODES or (
        code.endswith(("NotFound", "NotFoundException")) and not code.upper().startswith("KMS")
    ):
        return AwsMissing(message, f"Asked was {operation.service} in {access.region}, as {identity}.", code)
    operation_name = f"{operation.service}:{operation.operation}"
    return AwsRefused(f"AWS does not answer {operation_name}: {code}: {message}", code=code)


def redacted_message(message: str) -> str:
    """A message of AWS, botocore or a credential program, without secrets."""
    return redact_message(redact_held(message))


def credentials_name(access: AwsAccess) -> str:
    """The profile or role of the credentials."""
    profile = f"profile {access.profile!r}" if access.profile else "the default profile"
    return f"{access.role} (assumed from {profile})" if access.role else profile


def login_hint(access: AwsAccess) -> str:
    """What to try where the credentials are not accepted."""
    profile = f" --profile {access.profile}" if access.profile else ""
    return f"Log in again: aws sso login{profile}, or whatever gives you credentials; --profile names another profile."


# Exceptions of botocore as errors: no credentials, no network, and error responses of AWS.


_SSO_ERRORS = tuple(
    getattr(raised, name) for name in ("LoginError", "SSOError", "TokenRetrievalError") if hasattr(raised, name)
)
"""Also for a missing or rejected token; older botocore versions do not know `aws login`."""


def error_of_exception(error: Exception, operation: AwsOperation, access: AwsAccess) -> AwsError:
    """The error for any exception that botocore raises during a question."""
    if isinstance(error, raised.ClientError):
        error_document = error.response.get("Error", {})
        if error.operation_name != operation.operation:
            # The refused operation is not the question, but one that botocore calls to get credentials for it.
            return AwsLogin(
                f"the credentials of {credentials_name(access)} cannot be had: {error.operation_name} is refused: "
                f"{error_document.get('Code', '')}: {redacted_message(str(error_document.get('Message', '')))}",
                f"May you assume the role (sts:AssumeRole, and its trust policy)? {login_hint(access)}",
            )
        code = str(error_document.get("Code", ""))
        return error_of_code(code, str(error_document.get("Message", "")) or code, operation, access)
    login = _login_error(error, access)
    if login is not None:
        return login
    service_and_region = f"{operation.service} in {access.region}"
    if isinstance(error, (raised.HTTPClientError, raised.ConnectionError)):
        return AwsError(
            f"cannot ask {service_and_region}: {_one_line(error)}",
            f"Is {access.region} the region, and does this machine reach it (HTTPS_PROXY, VPN)?",
        )
    return AwsError(f"cannot ask {service_and_region} for {operation.operation}: {_one_line(error)}")


def credentials_error(error: Exception, access: AwsAccess) -> AwsLogin:
    """The error of a credential program or file, or of an MFA code that no user can be asked for."""
    return AwsLogin(
        f"the credentials of {credentials_name(access)} cannot be had: {_one_line(error) or type(error).__name__}",
        login_hint(access),
    )


def _login_error(error: Exception, access: AwsAccess) -> AwsLogin | None:
    if isinstance(error, raised.ProfileNotFound):
        return AwsLogin(
            f"there is no AWS profile {access.profile!r} on this machine",
            "aws configure list-profiles shows those that are there; give one with --profile.",
        )
    if isinstance(error, _SSO_ERRORS):
        return AwsLogin(
            f"the login of {credentials_name(access)} cannot be used: {_one_line(error)}", login_hint(access)
        )
    if isinstance(error, (raised.NoCredentialsError, raised.PartialCredentialsError)):
        return AwsLogin(f"there are no AWS credentials for {credentials_name(access)}", login_hint(access))
    if isinstance(
        error,
        (raised.CredentialRetrievalError, raised.MissingDependencyException, raised.RefreshWithMFAUnsupportedError),
    ):
        return AwsLogin(
            f"the credentials of {credentials_name(access)} cannot be had: {_one_line(error)}", login_hint(access)
        )
    return None


def _one_line(error: Exception) -> str:
    """The message on one line, without secrets: that of a proxy contains its URL."""
    return redacted_message(" ".join(str(error).split()))


# AWS through boto3, which is loaded with the first question.


MAX_ATTEMPTS = 6
IDLE_TIMEOUT_S = 30.0
MAX_RESPONSE_BYTES = 128 << 20
"""Of all pages of a response: 5,000 instances have some 40 MiB."""


_NOT_AWS_HINT = "Is this an address of AWS, and is no proxy in between?"
_MAX_ERROR_LENGTH = 300
"""Characters of botocore's message about a response, which it repeats."""


class LiveAws:
    """An `asking.AwsClient` for AWS. Mutable: `calls` counts requests, by ``eks:DescribeAddon``; a page is a call."""

    def __init__(
        self,
        access: AwsAccess,
        endpoint: str = "",
        max_attempts: int = MAX_ATTEMPTS,
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
            from .sessions import profile_region

            # The region of the profile, which awscli uses where no other source names one.
            access = replace(access, region=profile_region(access.profile, dict(access.settings)))
        if not access.region:
            raise UsageError(
                "nothing says in which AWS region the cluster is: not the kubeconfig, not AWS_REGION, not the profile",
                ("Give --region, or update the kubeconfig: aws eks update-kubeconfig --name NAME --region REGION."),
            )
        self.access = access
        self.calls: Counter[str] = Counter()
        self._denied: set[str] = set()
        self._endpoint = endpoint
        self._max_attempts = max_attempts
        self._ask_person = ask_person
        self._read_time = read_time or ReadTime()
        self._read_timeout = read_timeout
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(MAX_CONCURRENT_REQUESTS)
        self._clients: ServiceClients | None = None

    @property
    def said(self) -> str:
        """The requests in a line: ``3 calls of AWS: eks:DescribeAddon 2, sts:GetCallerIdentity 1``."""
        with self._lock:
            calls = sorted(self.calls.items())
        by_operation = ", ".join(f"{name} {count}" for name, count in calls)
        return f"{sum(count for _, count in calls)} calls of AWS{f': {by_operation}' if by_operation else ''}"

    def ask(self, operation: AwsOperation, parameters: Mapping[str, Any]) -> Json:
        """As `asking.AwsClient.ask`."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            with self._read_time.counting(), self._slots:  # limits nested concurrent questions, too
                return self._ask_in_time(operation, dict(parameters))
        except (BotoCoreError, ClientError) as error:
            aws_error = error_of_exception(error, operation, self.access)
            if isinstance(aws_error, AwsDenied):
                with self._lock:
                    self._denied |= {aws_error.missing} - {""}
            raise aws_error from error
        except (OSError, EOFError, RuntimeError) as error:  # botocore's own are handled above
            raise credentials_error(error, self.access) from error
        except ValueError as error:  # an endpoint or a region with an invalid name
            raise AwsError(
                f"cannot ask {operation.service} in {self.access.region}: {redacted_message(str(error))}"
            ) from error

    def _ask_in_time(self, operation: AwsOperation, parameters: dict[str, Any]) -> Json:
        """In a separate thread: botocore also waits between attempts, and for programs that print credentials."""
        left_s = self._read_time.left_s(self._read_timeout) if self._read_timeout else inf
        if left_s <= 0:
            raise self._timeout_error()
        bounds = ResponseLimits(monotonic, IDLE_TIMEOUT_S, monotonic() + left_s)
        bounds.start_body(MAX_RESPONSE_BYTES)
        try:
            return run_within(bounds, lambda: self._send(operation, parameters))
        except Exception as error:
            if bounds.is_too_large:
                operation_name = f"{operation.service}:{operation.operation}"
                message = f"the answer to {operation_name} has more than {MAX_RESPONSE_BYTES >> 20} MiB"
                raise AwsError(message, _NOT_AWS_HINT) from error
            if bounds.is_expired or isinstance(error, DeadlineExceeded):
                raise self._timeout_error() from error
            raise

    def _timeout_error(self) -> AwsError:
        return AwsError(
            f"AWS and the cluster cannot be read within {self._read_timeout:g} s",
            "AWS is slow, throttles, or does not end its answers. Allow more with --read-timeout TIME.",
        )

    @property
    def denied(self) -> tuple[str, ...]:
        """The IAM actions that were refused so far, sorted."""
        with self._lock:
            return tuple(sorted(self._denied))

    def _send(self, operation: AwsOperation, parameters: dict[str, Any]) -> Json:
        from botocore import xform_name
        from botocore.parsers import ResponseParserError

        client = self._open_clients().for_service(operation.service)
        method = xform_name(operation.operation)
        call = getattr(client, method)
        try:
            if operation.paged_list and client.can_paginate(method):
                response: Json = client.get_paginator(method).paginate(**parameters).build_full_result()
            else:
                response = call(**parameters)
        # Exceptions of botocore's own parsing.
        except (RecursionError, AttributeError, TypeError, KeyError, ResponseParserError) as error:
            operation_name = f"{operation.service}:{operation.operation}"
            reason = redacted_message(repr(error))[:_MAX_ERROR_LENGTH]
            raise AwsRefused(
                f"the answer to {operation_name} is not what it should be: {reason}", _NOT_AWS_HINT
            ) from error
        response.pop("ResponseMetadata", None)
        return response

    def _open_clients(self) -> ServiceClients:
        with self._lock:
            if self._clients is None:
                from .sessions import ServiceClients

                self._clients = ServiceClients(
                    self.access, self._count_call, self._max_attempts, self._endpoint, self._ask_person
                )
            return self._clients

    def _count_call(self, call: str) -> None:
        with self._lock:
            self.calls[call] += 1

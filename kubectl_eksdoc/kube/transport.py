"""GET requests that end in an answer or in one of our errors: retries, refreshed credentials, time limits."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from kubectl_eksdoc.errors import ClusterError, Forbidden, Unauthorized
from kubectl_eksdoc.kube.answers import Answer, Expired, Incomplete, NotServed, Refused
from kubectl_eksdoc.kube.breakdowns import breakdown
from kubectl_eksdoc.kube.config import Access
from kubectl_eksdoc.kube.credentials import Credential
from kubectl_eksdoc.kube.surroundings import utc_now

if TYPE_CHECKING:
    import urllib3

_CHUNK = 1 << 16
_AGAIN = frozenset((429, 500, 502, 503, 504))


@dataclass(frozen=True, slots=True)
class Patience:
    """Times in seconds. `silence` bounds each wait for bytes when the user sets no --request-timeout.

    A kube-apiserver ends its own requests after 60 s, so a longer silence means that nobody is there.
    """

    tries: int = 5
    tries_to_connect: int = 3
    first_pause: float = 0.5
    longest_pause: float = 8.0
    longest_retry_after: float = 30.0
    connect: float = 10.0
    silence: float = 75.0


@dataclass(frozen=True, slots=True)
class Timing:
    """Time and chance, so that tests need neither."""

    sleep: Callable[[float], object]
    monotonic: Callable[[], float] = monotonic
    chance: Callable[[], float] = random.random  # in [0, 1)


def _real_timing() -> Timing:
    # An Event waits like sleep, but lets Ctrl-C through at once on every platform.
    return Timing(threading.Event().wait)


class Transport:
    """One cluster's API, for reading. Safe to use from several threads."""

    def __init__(self, access: Access, patience: Patience | None = None, timing: Timing | None = None) -> None:
        self.access = access
        self._patience = patience or Patience()
        self._timing = timing or _real_timing()

    def close(self) -> None:
        self.access.pools.close()

    def get(self, path: str, query: Mapping[str, str] | None = None, right: str = "") -> Answer:
        """The server's 2xx answer. `right` is what RBAC calls this request, e.g. ``list pods``.

        Raises:
            Unauthorized: the credentials are refused, or the plugin that makes them failed.
            Forbidden: `missing` is `right`, or "" where no credentials were sent.
            NotServed, Expired: 404 and 410.
            Refused: another refusal, after retries.
            Unreachable: no connection, or (Incomplete) no whole answer, after retries.
            ConfigError: a credential or certificate cannot be had.
        """
        url = f"{self.access.target.server.url}{path}{'?' + urlencode(query) if query else ''}"
        renewed = False
        broken = tried = 0
        credential = self.access.credentials.current()
        while True:
            try:
                answer = self._once(url, credential)
            except _Broken as failure:
                broken += 1
                if not failure.again or broken >= self._patience.tries_to_connect:
                    raise failure.error from failure.__cause__
                self._pause(broken, None)
                continue
            if answer.status == 401:
                newer = credential if renewed else self.access.credentials.renewed(credential)
                if newer == credential:
                    raise self._unauthorized(answer)
                credential, renewed = newer, True
                continue
            tried += 1
            if answer.status not in _AGAIN or tried >= self._patience.tries:
                return self._judged(answer, path, right, tried)
            self._pause(tried, answer.retry_after(utc_now()))

    def _pause(self, count: int, asked: float | None) -> None:
        patience = self._patience
        if asked is not None:
            self._timing.sleep(min(asked, patience.longest_retry_after))
            return
        pause = min(patience.first_pause * 2 ** (count - 1), patience.longest_pause)
        self._timing.sleep(pause * (0.5 + self._timing.chance() / 2))

    def _once(self, url: str, credential: Credential) -> Answer:
        import urllib3

        limit = self.access.request_timeout
        patience = self._patience
        timeout = urllib3.Timeout(connect=patience.connect, read=patience.silence, total=limit or None)
        deadline = self._timing.monotonic() + limit if limit else None
        pool = self.access.pools.of(credential)
        try:
            response = pool.request(
                "GET",
                url,
                headers=self._headers(credential),
                retries=False,
                redirect=False,
                timeout=timeout,
                preload_content=False,
            )
            body = self._body(response, deadline)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            connecting = isinstance(error, urllib3.exceptions.ConnectTimeoutError)
            seconds = limit or (patience.connect if connecting else patience.silence)
            ours, again = breakdown(error, self.access.target.server.url, self.access.proxy, seconds)
            raise _Broken(ours, again) from error
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status, body, headers)

    def _headers(self, credential: Credential) -> urllib3.HTTPHeaderDict:
        import urllib3

        headers = urllib3.HTTPHeaderDict()
        for name, value in self.access.headers:
            headers.add(name, value)
        if credential.authorization:
            headers["Authorization"] = credential.authorization
        return headers

    def _body(self, response: urllib3.BaseHTTPResponse, deadline: float | None) -> bytes:
        """All of it. The limit is for the whole request: a server that drips bytes must not hold us for ever."""
        if deadline is None:
            with response:
                return response.read(decode_content=True)
        parts: list[bytes] = []
        try:
            while part := response.read1(_CHUNK, decode_content=True):
                parts.append(part)
                if self._timing.monotonic() > deadline:
                    limit = self.access.request_timeout
                    url = self.access.target.server.url
                    late = Incomplete(
                        f"{url} did not finish its answer within {limit:g} s", "Allow more with --request-timeout."
                    )
                    raise _Broken(late, False)
            response.release_conn()
        finally:
            response.close()
        return b"".join(parts)

    def _judged(self, answer: Answer, path: str, right: str, tries: int) -> Answer:
        server = self.access.target.server.url
        if 200 <= answer.status < 300:
            if answer.is_json:
                return answer
            kind = answer.headers.get("content-type", "no content type")
            raise Refused(
                f"{server}{path} answered with {kind} instead of JSON: {answer.said}",
                "Is this the address of a Kubernetes API, and is no login page or proxy in between?",
            )
        if answer.status == 403:
            raise self._forbidden(answer, path, right)
        if answer.status == 404:
            raise NotServed(f"{server} does not serve {path}", "Is this the address of a Kubernetes API?")
        if answer.status == 410:
            raise Expired(answer.said)
        if 300 <= answer.status < 400:
            where = answer.headers.get("location", "somewhere")
            raise Refused(
                f"{server}{path} answered with a redirect to {where}; an API server does not do that",
                "A login page or a proxy stands in between.",
            )
        times = f" ({tries} tries)" if tries > 1 else ""
        raise Refused(f"{server}{path} answered {answer.status}{times}: {answer.said}")

    def _forbidden(self, answer: Answer, path: str, right: str) -> Forbidden:
        """`missing` is "" where it is not a right that is missing but the credentials."""
        refused = f"{self.access.target.server.url} refuses {right or path}: {answer.said}"
        if "system:anonymous" in answer.said:
            return Forbidden(
                refused, "No credentials were sent: the kubeconfig entry has no user, or the server ignores it."
            )
        look = f"kubectl auth can-i {right} -A" if right.startswith("list ") else "kubectl auth can-i --list"
        return Forbidden(refused, f"Ask for the right, or look: {look}", right)

    def _unauthorized(self, answer: Answer) -> ClusterError:
        access = self.access
        profile = f" --profile {access.eks.profile}" if access.eks.profile else ""
        hint = "The token may have expired, or belong to another cluster: check --context and --user."
        if access.target.user.plugin is not None and not access.target.user.token:
            hint = (
                f"Who you are: aws sts get-caller-identity{profile}. Sign in anew: aws sso login{profile}. "
                "If that is right, the cluster has no access entry (or aws-auth line) for this identity."
            )
        return Unauthorized(f"{access.target.server.url} does not accept {access.login}: {answer.said}", hint)


class _Broken(Exception):
    """No whole answer came: `error` says so to the user, `again` if another try may go better."""

    def __init__(self, error: ClusterError, again: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.again = again

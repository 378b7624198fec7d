"""One exchange with the API server: a request that is sent once, and its answer, or why there is no whole one.

Nothing is tried again here but with newer credentials, after a 401: then nothing was done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlencode

from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.kube.answers import Answer, Incomplete
from kubectl_eksdoc.kube.breakdowns import breakdown, never_sent
from kubectl_eksdoc.kube.config import Access
from kubectl_eksdoc.kube.credentials import Credential
from kubectl_eksdoc.kube.patience import Patience, Timing
from kubectl_eksdoc.kube.sockets import patient

if TYPE_CHECKING:
    import urllib3

_CHUNK = 1 << 16


class Broken(Exception):
    """No whole answer came: `error` says so to the user, `again` if another try may go better, `unsent` if the server
    cannot have heard of the request."""

    def __init__(self, error: ClusterError, again: bool, unsent: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.again = again
        self.unsent = unsent


class _HasStatus(Protocol):
    @property
    def status(self) -> int: ...


Got = TypeVar("Got", bound=_HasStatus)


class Exchanges:
    """One cluster's API, request by request. Safe to use from several threads."""

    def __init__(self, access: Access, patience: Patience, timing: Timing) -> None:
        self.access = access
        self.patience = patience
        self.timing = timing

    def url(self, path: str, query: Mapping[str, str] | None = None) -> str:
        return f"{self.access.target.server.url}{path}{'?' + urlencode(query) if query else ''}"

    def admitted(self, ask: Callable[[Credential], Got]) -> Got:
        """What `ask` gets with the credentials in use, or with newer ones where those are refused (401).

        Raises:
            ConfigError, Unauthorized: the credentials cannot be had.
            what `ask` raises.
        """
        credential = self.access.credentials.current()
        answer = ask(credential)
        if answer.status != 401:
            return answer
        newer = self.access.credentials.renewed(credential)
        return answer if newer == credential else ask(newer)

    def once(
        self,
        credential: Credential,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        content_type: str = "",
        accept: str = "",
    ) -> Answer:
        """
        Raises:
            Broken: there is no whole answer.
            ConfigError: a certificate cannot be used.
        """
        import urllib3

        limit = self.access.request_timeout
        patience = self.patience
        timeout = urllib3.Timeout(connect=patience.connect, read=patience.silence, total=limit or None)
        deadline = self.timing.monotonic() + limit if limit else None
        try:
            headers = {"Content-Type": content_type, "Accept": accept}
            response = self._sent(credential, url, timeout, method, body, headers)
            answered = self._body(response, deadline)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._broken(error, limit or patience.silence) from error
        return Answer(response.status, answered, _headers_of(response))

    def opened(self, credential: Credential, url: str, answer_s: float, silence_s: float) -> Stream | Answer:
        """An answer without an end. Its beginning may take `answer_s`, each part of it `silence_s`; --request-timeout
        does not count. What is not 200 with JSON is an answer as any other.

        Raises:
            as `once`.
        """
        import urllib3

        timeout = urllib3.Timeout(connect=self.patience.connect, read=answer_s)
        try:
            response = self._sent(credential, url, timeout, "GET", None, {"Accept-Encoding": "identity"})
            if response.status != 200 or not Answer(200, b"", _headers_of(response)).is_json:
                return Answer(response.status, self._body(response, None), _headers_of(response))
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._broken(error, answer_s) from error
        patient(response, silence_s)
        return Stream(response, lambda error: self._broken(error, silence_s))

    def _sent(
        self,
        credential: Credential,
        url: str,
        timeout: urllib3.Timeout,
        method: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> urllib3.BaseHTTPResponse:
        return self.access.pools.of(credential).request(
            method,
            url,
            body=body,
            headers=self._headers(credential, headers),
            retries=False,
            redirect=False,
            timeout=timeout,
            preload_content=False,
        )

    def _headers(self, credential: Credential, more: Mapping[str, str]) -> urllib3.HTTPHeaderDict:
        """`more` take the place of others of their name; "" is none."""
        import urllib3

        headers = urllib3.HTTPHeaderDict()
        for name, value in self.access.headers:
            headers.add(name, value)
        if credential.authorization:
            headers["Authorization"] = credential.authorization
        for name, value in more.items():
            if value:
                headers[name] = value
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
                if self.timing.monotonic() > deadline:
                    limit = self.access.request_timeout
                    url = self.access.target.server.address
                    late = Incomplete(
                        f"{url} did not finish its answer within {limit:g} s", "Allow more with --request-timeout."
                    )
                    raise Broken(late, False)
            response.release_conn()
        finally:
            response.close()
        return b"".join(parts)

    def _broken(self, error: Exception, read_s: float) -> Broken:
        from urllib3 import exceptions

        limit = self.access.request_timeout
        connecting = isinstance(error, exceptions.ConnectTimeoutError)
        seconds = limit or (self.patience.connect if connecting else read_s)
        ours, again = breakdown(error, self.access.target.server.address, self.access.proxy, seconds)
        return Broken(ours, again, never_sent(error))


class Stream:
    """The bytes of an answer without an end, as they come."""

    status = 200

    def __init__(self, response: urllib3.BaseHTTPResponse, broken: Callable[[Exception], Broken]) -> None:
        self._response = response
        self._broken = broken

    def read(self) -> bytes:
        """What has come; waits until there is something. b"" at the end.

        Raises:
            Broken: it was cut, or nothing came for too long.
        """
        import urllib3

        try:
            return self._response.read1(_CHUNK, decode_content=True)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:  # ValueError: it was closed meanwhile
            raise self._broken(error) from error

    def close(self) -> None:
        self._response.close()


def _headers_of(response: urllib3.BaseHTTPResponse) -> Mapping[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}

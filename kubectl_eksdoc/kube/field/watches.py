"""One resource, listed and then followed for as long as the field is open, whatever happens to the connection.

A watch goes on from the last version it was told. Where the server has forgotten that version (410), where an object
cannot be understood, and where nothing comes of it, the resource is listed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubectl_eksdoc.core.rules.news import News
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.kube.answers import Expired, Incomplete, NotServed, Refused
from kubectl_eksdoc.kube.field.closing import Closing
from kubectl_eksdoc.kube.field.insisting import Insisting
from kubectl_eksdoc.kube.field.lists import Lister
from kubectl_eksdoc.kube.field.reach import Reach
from kubectl_eksdoc.kube.field.streams import Streams
from kubectl_eksdoc.kube.field.telling import Telling
from kubectl_eksdoc.objects.changing import Changing, What
from kubectl_eksdoc.objects.collector import BadObject

FRUITLESS = 3
"""So many watches in a row may tell nothing at all until what they should have told is listed."""

_AT_ONCE_S = 0.5
"""No server ends a watch so soon that is well."""

_QUICKLY_S = 0.05
"""The longest pause after a connection that broke when it had told something."""


class Watch:
    """Mutable, for one thread. `tell` takes news in the order in which they happened; `monotonic` gives seconds."""

    def __init__(
        self,
        telling: Telling,
        lister: Lister,
        streams: Streams,
        changing: Changing,
        insisting: Insisting,
        reach: Reach,
        closing: Closing,
        monotonic: Callable[[], float],
        tell: Callable[[Sequence[News]], None],
    ) -> None:
        self._telling = telling
        self._lister = lister
        self._streams = streams
        self._changing = changing
        self._insisting = insisting
        self._reach = reach
        self._closing = closing
        self._monotonic = monotonic
        self._tell = tell
        self._version: int | None = None  # None: it is to be listed
        self._fruitful = False  # whether the connection in use has told anything
        self._fruitless = 0  # connections in a row that have not

    @property
    def name(self) -> str:
        return self._telling.resource.plural

    def follow(self) -> None:
        """
        Raises:
            Closed: the field is; there is no other end but
            Unauthorized, Forbidden, ConfigError: it must not be watched any more.
        """
        while True:
            self._closing.check()
            self._fruitful = False
            try:
                if self._version is None:
                    self._list()
                else:
                    self._watch(self._version)
            except (Expired, BadObject) as error:
                self._version = None
                self._failed(error)
            except (Refused, NotServed, Incomplete) as error:
                self._without_fruit(1)
                self._failed(error)
            except ClusterError as error:  # no connection at all tells nothing of the version
                self._failed(error)

    def _list(self) -> None:
        listed = self._lister.all()
        self._version, self._fruitless = listed.version, 0
        self._tell([self._telling.all(listed)])

    def _watch(self, version: int) -> None:
        """One connection, until it ends."""
        begun_s = self._monotonic()
        with self._streams.opened(version) as stream:
            self._reach.works(self.name)
            self._tell(())  # who waits may want to know that
            for lines in stream:
                self._take(lines)
        self._reach.broken(self.name, f"the watch of {self.name} has ended", self._monotonic())
        if not self._fruitful:
            # Its time has passed without even a bookmark, or somebody ends watches at once: is it a watch at all?
            self._without_fruit(FRUITLESS)
            if self._monotonic() - begun_s < _AT_ONCE_S:
                raise Incomplete(f"a watch of {self.name} ended at once and had told nothing")

    def _take(self, lines: Sequence[bytes]) -> None:
        """Decode and tell; what is told before something goes wrong is told."""
        news: list[News] = []
        telling = self._telling
        try:
            for line in lines:
                event = self._changing.event(line, telling.resource.path)
                if event.what is What.ERROR:
                    raise self._error(event.code, event.said)
                if event.what is What.IS:
                    news.append(telling.there(event.fact, event.version))
                elif event.what is What.GONE:
                    news.append(telling.gone(event.fact, event.version))
                self._version = max(self._version or 0, event.version)
                if not self._fruitful:
                    self._fruitful, self._fruitless = True, 0
                    self._insisting.succeeded()
        finally:
            if news:
                self._tell(news)

    def _error(self, code: int, said: str) -> ClusterError:
        if code == 410:
            return Expired(said)
        self._without_fruit(FRUITLESS)
        return Refused(f"the watch of {self.name} was ended with {code}: {said}")

    def _without_fruit(self, times: int) -> None:
        if not self._fruitful or times == FRUITLESS:
            self._fruitless += times
        if self._fruitless >= FRUITLESS:
            self._version = None

    def _failed(self, error: ClusterError | BadObject) -> None:
        said = error.message if isinstance(error, ClusterError) else str(error)
        self._reach.broken(self.name, said, self._monotonic())
        self._insisting.failed(error, _QUICKLY_S if self._fruitful else None)

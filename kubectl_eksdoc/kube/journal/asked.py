"""What others ask of a run: its head is read now and then in a thread of its own, so that nothing waits for it."""

from __future__ import annotations

import threading
from types import TracebackType

from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.kube.journal.config_maps import ConfigMaps
from kubectl_eksdoc.kube.journal.runs import WANTED, WANTED_BY, head_name

LOOK_S = 3.0


class Asked:
    """Used as ``with Asked(…) as asked: … asked.wanted``. `maps` is asked in another thread."""

    def __init__(self, maps: ConfigMaps, run: str, look_s: float = LOOK_S) -> None:
        self._maps = maps
        self._name = head_name(run)
        self._look_s = look_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="asked of the run", daemon=True)
        self.wanted: tuple[str, str] = ("", "")
        """A word of `Phase`, and who asked; two empty texts while nobody did."""

    def __enter__(self) -> Asked:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()  # and it is not waited for: an answer may take long

    def _look(self) -> None:
        while not self._over.wait(self._look_s):
            try:
                head = self._maps.get(self._name)
            except EksdocError:
                continue  # who leads finds out by writing
            if head is not None:
                self.wanted = head.data.get(WANTED, ""), head.data.get(WANTED_BY, "")

"""Starts requests ahead of their use, so that many small lists do not each cost a round trip.

Results come in the order of the questions, hence the same cluster always gives the same facts. Threads are
daemons: after Ctrl-C nobody waits for a server that does not answer.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(work: Callable[[Item], Result], items: Iterable[Item], width: int) -> Iterator[Callable[[], Result]]:
    """For each item a function that waits for ``work(item)`` and returns or raises what it did.

    At most `width` are under way or wait to be fetched, which bounds the memory they hold.
    """
    waiting = iter(items)
    started: deque[Future[Result]] = deque()

    def start() -> None:
        for item in waiting:
            future: Future[Result] = Future()
            started.append(future)
            threading.Thread(target=_run, args=(future, work, item), daemon=True).start()
            return

    for _ in range(width):
        start()
    while started:
        yield started.popleft().result
        start()


def _run(future: Future[Result], work: Callable[[Item], Result], item: Item) -> None:
    try:
        future.set_result(work(item))
    except BaseException as error:  # it belongs to whoever asks for the result
        future.set_exception(error)

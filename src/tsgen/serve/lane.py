"""One thread for work that would block the event loop, with a bounded number of jobs before it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tsgen.serve.refused import busy

T = TypeVar("T")


class Lane:
    """Does one thing after the other. A job whose client has gone is dropped if it still waits."""

    def __init__(self, name: str, most: int, start: Callable[[], None] | None = None) -> None:
        self._name, self._most, self._jobs = name, most, 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name, initializer=start)

    async def run(self, function: Callable[[], T]) -> T:
        """What `function` returns, or a refusal if too many wait."""
        if self._jobs >= self._most:
            raise busy(self._name, self._most)
        self._jobs += 1
        try:
            return await asyncio.wrap_future(self._thread.submit(function))
        finally:
            self._jobs -= 1

    def close(self) -> None:
        """Finish what was begun."""
        self._thread.shutdown(wait=True)

"""What happens in the world, told to all who listen: gateway, web page, waiting tests."""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from bridge.rehearsal.discord.document import Json

T = TypeVar("T")


class Listener(Protocol):
    """The gateway's end: told of each dispatch and of the channel that it happened in, if any."""

    def __call__(self, name: str, payload: Json, channel: str | None) -> None: ...


class Events:
    """A synchronous hub, so that a change of the world and its event are one step."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._queues: set[asyncio.Queue[tuple[str, Json]]] = set()
        self._waiting: set[asyncio.Future[None]] = set()

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def emit(self, name: str, payload: Json, *, channel: str | None = None) -> None:
        """A gateway dispatch; the page sees it too."""
        for listener in self._listeners:
            listener(name, payload, channel)
        self.publish(name, payload)

    def publish(self, name: str, payload: Json) -> None:
        """Something that people see and the bot is not told, such as an ephemeral answer."""
        for queue in self._queues:
            queue.put_nowait((name, payload))
        self.touch()

    def subscribe(self) -> asyncio.Queue[tuple[str, Json]]:
        queue: asyncio.Queue[tuple[str, Json]] = asyncio.Queue()
        self._queues.add(queue)
        return queue

    def unsubscribe(self, queue: asyncio.Queue[tuple[str, Json]]) -> None:
        self._queues.discard(queue)

    def touch(self) -> None:
        """Wake everyone who waits for a condition."""
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def until(
        self,
        predicate: Callable[[], T],
        timeout: float,  # noqa: ASYNC109 - it words the failure too
        what: str | Callable[[], str],
    ) -> T:
        """The predicate's first truthy value; in vain, an AssertionError that says `what`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while not (value := predicate()):
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.add(future)
            try:
                async with asyncio.timeout_at(deadline):
                    await future
            except TimeoutError:
                if value := predicate():
                    return value
                said = what() if callable(what) else what
                raise AssertionError(f"not within {timeout} s: {said or predicate}") from None
            finally:
                self._waiting.discard(future)
        return value

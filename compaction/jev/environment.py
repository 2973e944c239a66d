"""Who scores: Jev where the environment holds a key, else the offline scorer."""

from collections.abc import Mapping

from compaction.jev.client import JevClient
from compaction.jev.wire import BASE_URL, KEY_VARIABLE, Answers, JevAsker, Questions, State

URL_VARIABLE = "TYPESAFE_BASE_URL"
"""Names another address than Jev's own."""


class Jev:
    """Jev, asked over a connection that is closed again: each question has its own event loop."""

    def __init__(self, key: str, base_url: str = BASE_URL) -> None:
        """Opens nothing; the key is shown nowhere."""
        self._key = key
        self._base_url = base_url

    async def ask(self, state: State, questions: Questions, /) -> Answers:
        """The answers; raises what `JevClient.ask` raises."""
        async with JevClient(api_key=self._key, base_url=self._base_url) as client:
            return await client.ask(state, questions)


def asker(environ: Mapping[str, str]) -> JevAsker | None:
    """Who scores, if a strategy asks at all; None = the offline scorer."""
    key = environ.get(KEY_VARIABLE, "").strip()
    return Jev(key, environ.get(URL_VARIABLE) or BASE_URL) if key else None

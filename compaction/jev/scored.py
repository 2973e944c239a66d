"""An asker that knows its answers: scores from elsewhere, such as the offline scorer."""

from collections.abc import Mapping, Sequence

from compaction.jev.calls import collect_tool_calls
from compaction.jev.wire import Answers, Questions, State
from compaction.messages import Message


class ScoredAsker:
    """Answers both questions about a call with the score of its `tool_use_id`.

    Scores are within [0, 1], as all answers must be; a call without one has 0. An asker serves the
    one conversation that it was made for.
    """

    def __init__(self, messages: Sequence[Message], scores: Mapping[str, float]) -> None:
        """Raises `HistoryError` where calls and results cannot be paired."""
        self._scores = {
            call.id: scores.get(call.tool_use_id, 0.0) for call in collect_tool_calls(messages)
        }

    async def ask(self, state: State, questions: Questions, /) -> Answers:
        """The scores of the calls that the questions are about; the state is not looked at."""
        return {key: {"noul": self._scores[key.partition("_")[2]]} for key in questions}

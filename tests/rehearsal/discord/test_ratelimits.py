from hypothesis import given
from hypothesis import strategies as st

from bridge.rehearsal.discord import LoopbackDiscord
from bridge.rehearsal.discord.ratelimits import RateLimits
from tests.rehearsal.discord.rig import Bot, running

SEND = "POST /channels/{channel_id}/messages"
EDIT = "PATCH /channels/{channel_id}/messages/{message_id}"
RENAME = "PATCH /channels/{channel_id}"
CALLBACK = "POST /interactions/{interaction_id}/{interaction_token}/callback"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def send(limits: RateLimits, channel: str = "1") -> bool:
    """Whether a send passes."""
    verdict = limits.check(SEND, {"channel_id": channel}, counts_globally=True)
    return verdict.refusal is None


def test_five_sends_pass_and_the_sixth_waits_for_the_window() -> None:
    clock = Clock()
    limits = RateLimits("real", clock)
    assert [send(limits) for _ in range(6)] == [True] * 5 + [False]
    clock.now += 4.9
    assert not send(limits)
    clock.now += 0.2
    assert send(limits)


def test_buckets_are_per_channel_and_route() -> None:
    limits = RateLimits("real", Clock())
    assert all(send(limits, "1") for _ in range(5))
    assert send(limits, "2")
    params = {"channel_id": "1", "message_id": "7"}
    assert limits.check(EDIT, params, counts_globally=True).refusal is None


def test_headers_count_down_and_a_refusal_names_its_scope() -> None:
    limits = RateLimits("real", Clock())
    verdicts = [limits.check(SEND, {"channel_id": "1"}, counts_globally=True) for _ in range(6)]
    assert [v.headers["X-RateLimit-Remaining"] for v in verdicts] == list("432100")
    assert len({v.headers["X-RateLimit-Bucket"] for v in verdicts}) == 1
    refused = verdicts[-1]
    assert refused.headers["X-RateLimit-Scope"] == "user"
    assert refused.refusal is not None
    assert refused.refusal["retry_after"] == 5 and refused.refusal["global"] is False


def test_fifty_requests_a_second_are_the_global_limit() -> None:
    clock = Clock()
    limits = RateLimits("real", clock)
    assert all(send(limits, str(n)) for n in range(50))
    verdict = limits.check(SEND, {"channel_id": "51"}, counts_globally=True)
    assert verdict.refusal is not None and verdict.refusal["global"] is True
    interaction = {"interaction_id": "1", "interaction_token": "t"}
    assert limits.check(CALLBACK, interaction, counts_globally=False).refusal is None
    clock.now += 1
    assert send(limits, "51")


def test_a_third_rename_in_ten_minutes_is_refused_below_the_routes_limit() -> None:
    limits = RateLimits("real", Clock())
    headers = limits.check(RENAME, {"channel_id": "1"}, counts_globally=True).headers
    passed = [limits.check_rename("1", headers).refusal is None for _ in range(3)]
    assert passed == [True, True, False]
    assert int(headers["X-RateLimit-Remaining"]) > 0


def test_off_never_refuses() -> None:
    limits = RateLimits("off", Clock())
    assert all(send(limits) for _ in range(5000))


@given(st.lists(st.floats(0, 3), max_size=80))
def test_no_window_of_five_seconds_passes_more_than_two_bursts(gaps: list[float]) -> None:
    """Windows are fixed, so at most two of them touch any five seconds."""
    clock = Clock()
    limits = RateLimits("real", clock)
    passed: list[float] = []
    for gap in gaps:
        clock.now += gap
        if send(limits):
            passed.append(clock.now)
    for at in passed:
        assert sum(at <= other < at + 5 for other in passed) <= 10


async def test_discord_py_keeps_to_the_buckets() -> None:
    loopback = LoopbackDiscord(rate_limits="real")
    await loopback.start()
    async with running(loopback, Bot()) as bot:
        said = await loopback.say(loopback.general, "react")
        message = await bot.text(loopback.general).fetch_message(int(said["id"]))
        for emoji in "👀👍🎉":
            await message.add_reaction(emoji)
    assert {exchange.status for exchange in loopback.exchanges} <= {200, 204}
    await loopback.stop()

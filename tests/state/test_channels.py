"""What is kept for a channel survives restarts, damage and strangers' values."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from state import Channel, Day, Settings, Store
from state.document import Document, decode, encode, salvage
from tests.state.samples import channels, plain, snowflakes


async def test_what_is_chosen_for_a_channel_is_there_after_a_restart(tmp_path: Path) -> None:
    chosen = Channel(project="/website", settings=Settings(model="opus", queue_mode="interrupt"))
    async with await Store.open(tmp_path) as store:
        assert store.channel(5) == Channel()
        assert store.update_channel(5, lambda _: chosen) == chosen
        store.put(1, plain())
    async with await Store.open(tmp_path) as store:
        assert store.channel(5) == chosen
        assert store.channels() == {5: chosen}
        assert store.notices == ()


async def test_a_change_of_a_channel_that_changes_nothing_is_not_written(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        store.update_channel(5, lambda channel: channel)
        await store.durable()
        assert store.writes == 0


@given(st.dictionaries(snowflakes, channels, max_size=3))
def test_channels_are_read_as_they_were_written(chosen: dict[int, Channel]) -> None:
    raw = b"".join(encode(Document(settings=chosen)))
    assert decode(raw).document.settings == chosen
    assert decode(json.dumps(json.loads(raw), indent=1).encode()).document.settings == chosen
    assert salvage(raw[:-3]).settings == chosen


def test_a_channel_with_a_wrong_value_costs_no_other_channel() -> None:
    good = Channel(days=(Day(date="2026-12-01", turns=2),))
    raw = b"".join(encode(Document(settings={5: good})))
    tree = json.loads(raw)
    tree["channel_settings"]["6"] = {"days": [{"date": "yesterday"}]}
    tree["channel_settings"]["x"] = {}
    found = decode(json.dumps(tree).encode())
    assert found.document.settings == {5: good}
    assert len(found.faults) == 2


def test_a_file_from_before_there_were_settings_of_channels_is_read() -> None:
    raw = b'{"version": 1,\n"channels": {},\n"threads": {\n\n}}\n'
    assert decode(raw).document.settings == {}
    assert decode(raw).faults == ()

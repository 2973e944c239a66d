"""What was decided once is repeated, byte for byte."""

import json

from compaction.pruning import prune_context, replacements
from tests.compaction.pruning.contexts import NOW, assistant, history, result, settings


def test_decisions_are_repeated_with_a_warm_cache_and_with_pruning_off() -> None:
    messages = history(result("a", "x" * 5000), result("b", "short"))
    first = prune_context(messages, settings(), window=1000, last_touch=1, now=NOW)
    kept = json.loads(json.dumps(replacements(messages, first)))
    assert [*kept] == ["a#1"]
    for made in (settings(), None):
        again = prune_context(messages, made, window=1000, last_touch=NOW, now=NOW, sticky=kept)
        assert json.dumps(again) == json.dumps(first)
    plain = prune_context(messages, settings(), window=1000, last_touch=NOW, now=NOW)
    assert plain is messages


def test_a_later_round_leaves_what_was_decided_and_decides_about_the_rest() -> None:
    messages = history(result("a", "x" * 5000))
    kept = {"a#1": "as it was decided, " + "long " * 2000}
    later = [*messages, assistant(), result("b", "y" * 5000), *[assistant()] * 3]
    pruned = prune_context(later, settings(), window=1000, last_touch=1, now=NOW, sticky=kept)
    now = replacements(later, pruned)
    assert now.keys() == {"a#1", "b#1"}
    assert now["a#1"] == kept["a#1"]
    assert "[Tool result trimmed" in now["b#1"]


def test_a_later_result_of_the_same_name_changes_no_decision() -> None:
    messages = history(result("a", "x" * 5000))
    first = prune_context(messages, settings(), window=1000, last_touch=1, now=NOW)
    kept = replacements(messages, first)
    more = [*messages, result("a", "z" * 5000)]
    again = prune_context(more, settings(), window=1000, last_touch=NOW, now=NOW, sticky=kept)
    assert json.dumps(again[: len(messages)]) == json.dumps(first)
    assert again[-1] is more[-1]


def test_after_a_compaction_former_decisions_find_nothing() -> None:
    messages = history(result("b", "short"))
    kept = {"a#1": "gone"}
    again = prune_context(messages, None, window=1000, last_touch=NOW, now=NOW, sticky=kept)
    assert again is messages

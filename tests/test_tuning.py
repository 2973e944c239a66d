"""What a thread chose holds over the bot's settings, and odd names are told from known ones."""

from pathlib import Path
from typing import Any

import pytest

from bridge import tuning
from bridge.config import Config
from state import Settings


def config(**more: Any) -> Config:
    return Config(state_dir=Path("/s"), project_dir=Path("/p"), **more)


def test_a_threads_choice_holds_over_the_bots_settings() -> None:
    bots = config(model="opus", queue_mode="interrupt")
    assert tuning.chosen(Settings(), bots) == {
        "model": "opus",
        "effort": "default",
        "verbosity": "normal",
        "queue mode": "interrupt",
    }
    own = Settings(model="haiku", effort="low", verbosity="full", queue_mode="queue")
    assert tuning.chosen(own, bots) == {
        "model": "haiku",
        "effort": "low",
        "verbosity": "full",
        "queue mode": "queue",
    }
    assert tuning.chosen_line(own, bots) == "effort `low` · verbosity `full` · queue mode `queue`"


@pytest.mark.parametrize("name", ["opus", "claude-opus-5-5", "eu.anthropic.x:0", "opus[1m]"])
def test_names_of_models_are_possible(name: str) -> None:
    assert tuning.possible_model(name)


@pytest.mark.parametrize("name", ["", "-p", "two words", "x\n", "x" * 101, "`x`"])
def test_what_is_no_name_is_not_passed_on(name: str) -> None:
    assert not tuning.possible_model(name)


def test_a_name_that_the_cli_does_not_list_is_noticed() -> None:
    assert tuning.known_model("sonnet", config())
    assert tuning.known_model("claude-new-9", config())
    assert tuning.known_model("eu.anthropic.x:0", config())
    assert tuning.known_model("mine", config(model="mine"))
    assert not tuning.known_model("gpt", config())


async def test_without_a_process_nothing_is_told() -> None:
    assert await tuning.set_model(None, "opus", config()) == tuning.Applied()
    assert await tuning.set_effort(None, None, config()) == tuning.Applied()

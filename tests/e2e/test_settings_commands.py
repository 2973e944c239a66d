"""What threads and channels choose counts at once, is kept, and is shown; spending has its end."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.rig import Rig

pytestmark = pytest.mark.e2e

WITHIN = 30.0


def git(where: Path, *arguments: str) -> str:
    me = ("-c", "user.name=Me", "-c", "user.email=me@example.invalid")
    done = subprocess.run(
        ["git", *me, "-C", str(where), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def last(rig: Rig) -> tuple[str, str]:
    """The model and the effort of the newest request that began a turn."""
    body: dict[str, Any] = rig.model.requests[-1].body
    return body["model"], body["output_config"]["effort"]


async def choices(rig: Rig, channel: str, command: str, option: str, typed: str) -> list[str]:
    interaction = await rig.discord.autocomplete(channel, command, option, typed)
    await rig.until(lambda: interaction.choices is not None, within=WITHIN)
    return [choice["value"] for choice in interaction.choices or []]


async def test_model_and_effort_count_at_once_and_after_a_restart(rig: Rig) -> None:
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    process = rig.record(thread)["process"]["pid"]
    assert "sonnet" in await choices(rig, thread, "model", "model", "SON")
    shown = await rig.command(thread, "model", model="sonnet")
    assert re.search(r"`sonnet` \(`claude-sonnet-\S+`\), from the next message on", shown)
    assert await choices(rig, thread, "effort", "effort", "x") == ["xhigh", "max"]
    assert "`low`, from the next message on" in await rig.command(thread, "effort", effort="low")
    await rig.say(thread, "beta")
    await rig.settled(thread, 2)
    assert last(rig)[0].startswith("claude-sonnet")
    assert last(rig)[1] == "low"
    assert rig.record(thread)["process"]["pid"] == process
    status = await rig.command(thread, "status")
    assert "(chosen: sonnet)" in status
    assert "effort `low`" in status

    await rig.kill_clis()
    await rig.restart()
    await rig.say(thread, "gamma")
    await rig.settled(thread, 3)
    assert last(rig)[0].startswith("claude-sonnet")
    assert last(rig)[1] == "low"
    await rig.command(thread, "model", model="default")
    await rig.command(thread, "effort", effort="default")
    await rig.say(thread, "delta")
    await rig.settled(thread, 4)
    assert not last(rig)[0].startswith("claude-sonnet")
    assert last(rig)[1] != "low"
    assert "settings" not in rig.record(thread)


@pytest.mark.settings(BRIDGE_MAX_PROCESSES="1")
async def test_a_choice_made_while_a_turn_waits_for_a_process_counts_for_it(rig: Rig) -> None:
    busy = await rig.open("SLOW 60 alpha")
    await rig.answer(busy, "working")
    thread = await rig.open("beta")
    await rig.answer(thread, "Waiting for a free place")
    assert "`sonnet`" in await rig.command(thread, "model", model="sonnet")
    assert "`low`" in await rig.command(thread, "effort", effort="low")
    await rig.command(busy, "stop")
    await rig.answer(thread, "Echo #1: beta | saw:")
    assert last(rig)[0].startswith("claude-sonnet")
    assert last(rig)[1] == "low"


async def test_a_change_in_mid_turn_counts_from_its_next_request_on(rig: Rig) -> None:
    thread = await rig.open("RUN: until test -e go; do sleep 0.1; done")
    await rig.answer(thread, "until test")
    shown = await rig.command(thread, "model", model="haiku")
    assert "from the next request of the turn that runs on" in shown
    (rig.work / "go").touch()
    await rig.settled(thread, 1)
    assert last(rig)[0].startswith("claude-haiku")


async def test_what_cannot_be_chosen_is_named_with_what_can(rig: Rig) -> None:
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    assert "no model's name" in await rig.command(thread, "model", model="--help me")
    assert "does not list this name" in await rig.command(thread, "model", model="gpt")
    assert "Choose one of default, low" in await rig.command(thread, "effort", effort="huge")
    shown = await rig.command(thread, "verbosity", verbosity="@everyone")
    assert "Choose one of default, quiet" in shown
    assert "Choose one of default, queue" in await rig.command(thread, "queue-mode", mode="x")
    await rig.command(thread, "model", model="default")
    assert "settings" not in rig.record(thread)


async def test_verbosity_and_queue_mode_are_kept_and_shown(rig: Rig) -> None:
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    assert "`quiet`" in await rig.command(thread, "verbosity", verbosity="Quiet")
    assert await choices(rig, thread, "queue-mode", "mode", "in") == ["interrupt"]
    assert "`interrupt`" in await rig.command(thread, "queue-mode", mode="interrupt")
    assert rig.record(thread)["settings"] == {"verbosity": "quiet", "queue_mode": "interrupt"}
    status = await rig.command(thread, "status")
    assert "verbosity `quiet` · queue mode `interrupt`" in status


async def test_what_a_channel_chooses_its_new_threads_begin_with(rig: Rig) -> None:
    d = rig.discord
    before = await rig.open("alpha")
    await rig.settled(before, 1)
    shown = await rig.command(d.general, "model", model="haiku")
    assert "new threads in this channel" in shown
    after = await rig.open("beta")
    await rig.settled(after, 1)
    assert last(rig)[0].startswith("claude-haiku")
    await rig.say(before, "gamma")
    await rig.settled(before, 2)
    assert not last(rig)[0].startswith("claude-haiku")


async def test_a_channel_is_bound_to_a_folder_that_the_operator_allows(rig: Rig) -> None:
    d = rig.discord
    for name in ("web", "api"):
        (rig.work / name).mkdir()
    (rig.folder / "outside").mkdir()
    told = d.commands
    await rig.until(lambda: told.on(d.guild_id), within=WITHIN)
    assert await choices(rig, d.general, "project", "folder", "we") == [str(rig.work / "web")]
    shown = await rig.command(d.general, "project", folder=str(rig.folder / "outside"))
    assert "not one of those that the operator allows" in shown
    assert "BRIDGE_PROJECT_ROOTS" in shown
    shown = await rig.command(d.general, "project", folder="../outside")
    assert "not one of those" in shown
    assert "no such folder" in await rig.command(d.general, "project", folder="nothing")
    assert str(rig.work / "web") in await rig.command(d.general, "project", folder="web")
    thread = await rig.open("RUN: pwd")
    assert str(rig.work / "web") in await rig.settled(thread, 1)
    assert rig.record(thread)["cwd"] == str(rig.work / "web")
    await rig.restart()
    assert str(rig.work / "web") in await rig.settled(await rig.open("RUN: pwd"), 1)


async def test_a_thread_works_in_its_own_worktree_until_it_is_merged(rig: Rig) -> None:
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    assert "in no git repository" in await rig.command(thread, "worktree")
    git(rig.work, "init", "-q", "-b", "main")
    (rig.work / "page").write_text("page")
    git(rig.work, "add", "--all")
    git(rig.work, "commit", "-q", "-m", "Add a page")
    assert "has no worktree" in await rig.command(thread, "worktree", action="status")

    shown = await rig.command(thread, "worktree")
    path = rig.state / "worktrees" / thread
    assert str(path) in shown
    await rig.say(thread, "RUN: pwd && echo new > file")
    await rig.answer(thread, f"Tool said: {path}")
    await rig.settled(thread, 2)
    branch = git(path, "branch", "--show-current")
    assert branch.startswith("claude/alpha-")
    assert branch in await rig.command(thread, "status")
    status = await rig.command(thread, "worktree", action="status")
    assert "1 uncommitted files, nothing unmerged" in status
    assert "has one already" in await rig.command(thread, "worktree")
    assert "The worktree is kept" in await rig.command(thread, "worktree", action="merged")
    shown = await rig.command(thread, "worktree", action="abandon")
    assert "throw away: 1 uncommitted files" in shown
    git(path, "add", "--all")
    git(path, "commit", "-q", "-m", "Add a file")
    shown = await rig.command(thread, "worktree", action="merged")
    assert "kept: clean, 1 unmerged commits" in shown

    git(rig.work, "merge", "-q", branch)
    assert "is removed" in await rig.command(thread, "worktree", action="merged")
    assert not path_is_there(path)
    assert git(rig.work, "branch", "--list", "claude/*") == ""
    await rig.say(thread, "beta")
    await rig.answer(thread, "Echo #3: beta | saw: alpha")
    assert rig.starts.all()[-1].cwd == str(rig.work)


async def test_a_worktree_is_abandoned_only_after_confirmation_and_not_in_mid_turn(
    rig: Rig,
) -> None:
    git(rig.work, "init", "-q", "-b", "main")
    git(rig.work, "commit", "-q", "--allow-empty", "-m", "Begin")
    thread = await rig.open("SLOW 60 alpha")
    await rig.answer(thread, "working")
    assert "A turn runs here" in await rig.command(thread, "worktree")
    await rig.command(thread, "stop")
    await rig.command(thread, "worktree")
    path = rig.state / "worktrees" / thread
    (path / "draft").write_text("draft")
    await rig.say(thread, "SLOW 60 beta")
    await rig.asked("SLOW 60 beta", within=WITHIN)
    shown = await rig.command(thread, "worktree", action="abandon", confirm=True)
    assert "A turn runs here" in shown
    assert path_is_there(path / "draft")
    await rig.command(thread, "stop")
    shown = await rig.command(thread, "worktree", action="abandon", confirm=True)
    assert "is removed" in shown
    assert not path_is_there(path)


def path_is_there(path: Path) -> bool:
    return path.exists()


@pytest.mark.settings(BRIDGE_DAILY_BUDGET="0.2")
async def test_a_budget_warns_and_then_no_turn_starts(rig: Rig) -> None:
    thread = await rig.open("alpha")
    await rig.settled(thread, 1)
    days = await rig.eventually(lambda: rig.record(thread).get("days"))
    assert days[0]["cost_usd"] > 0
    shown = await rig.command(thread, "usage")
    assert re.search(r"\*\*Today\*\* 1 turns · \$0\.\d\d · \d\S* tokens in", shown)
    assert "of $0.20" in shown
    assert f"<#{thread}> 1 turns" in shown
    await rig.say(thread, "LONG 40000")
    await rig.answer(thread, "today's budget of $0.20 is used up now")
    asked = len(rig.model.requests)
    await rig.say(thread, "one more")
    await rig.answer(thread, "Today's budget of $0.20 is used up")
    assert "BRIDGE_DAILY_BUDGET" in rig.shown(thread)
    assert len(rig.model.requests) == asked
    assert "one more" not in rig.prompts()

"""/project and /worktree: in which folder the sessions of a channel, or of a thread, work."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from discord import app_commands

from bridge import folders, worktree
from bridge.conversation import Conversation
from bridge.folders import Outside
from bridge.render.inline import code
from bridge.render.trouble import trouble
from bridge.slash.desk import NOT_A_SESSION, Command, Desk, Interaction, command
from bridge.worktree import GitFault, NoRepository
from state import Record, Worktree

_BUSY = "A turn runs here. Give the command again after its end, or `/stop` it first."
_ACTIONS = (
    ("create: a worktree and a branch for this thread", "create"),
    ("status: how it stands", "status"),
    ("merged: remove it, if nothing would be lost", "merged"),
    ("abandon: remove it with all that is in it", "abandon"),
)


def commands(desk: Desk) -> tuple[Command, ...]:
    """The two commands."""

    @app_commands.describe(folder="One of the folders that the operator allows")
    async def project(interaction: Interaction, folder: str) -> None:
        answer = await desk.begin(interaction, private=False)
        await answer.say(await _project(desk, interaction, folder))

    async def offered(_: Interaction, typed: str) -> Iterable[tuple[str, str]]:
        found = await asyncio.to_thread(folders.completions, typed, desk.roots)
        return [(_end(str(path)), str(path)) for path in found]

    @app_commands.describe(
        action="create (if not given), status, merged or abandon",
        confirm="For abandon: yes, throw away what is not committed and not merged",
    )
    @app_commands.choices(action=[app_commands.Choice(name=n, value=v) for n, v in _ACTIONS])
    async def tree(interaction: Interaction, action: str = "create", confirm: bool = False) -> None:
        answer = await desk.begin(interaction, private=False)
        conversation = desk.here(interaction)
        if conversation is None:
            await answer.say(NOT_A_SESSION)
            return
        try:
            await answer.say(await _worktree(desk, conversation, action, confirm))
        except NoRepository as fault:
            what = "The folder of this thread is in no git repository with a commit."
            await answer.say(
                trouble(what, "`git init` and a first commit make it one.", str(fault))
            )
        except GitFault as fault:
            await answer.say(trouble("git refused.", "Nothing was removed.", str(fault)))

    return (
        command(
            "project", "In which folder new threads of this channel work", project, folder=offered
        ),
        command("worktree", "A git worktree and branch of this thread's own", tree),
    )


async def _project(desk: Desk, interaction: Interaction, typed: str) -> str:
    channel, store = desk.channel(interaction), desk.services.store
    if channel is None:
        return NOT_A_SESSION
    try:
        chosen = await asyncio.to_thread(folders.resolve, typed, desk.roots)
    except Outside as fault:
        roots = ", ".join(code(str(root)) for root in desk.roots)
        return trouble(
            str(fault), f"Choose one below {roots}; the operator adds more by BRIDGE_PROJECT_ROOTS."
        )
    store.update_channel(channel, lambda c: c.model_copy(update={"project": str(chosen)}))
    here = desk.here(interaction)
    moved = here is not None and _not_begun(here)
    if here is not None and moved:
        store.update(here.thread, lambda r: r.model_copy(update={"cwd": str(chosen)}))
    await store.durable()
    also = " This thread too: its session has not begun." if moved else ""
    return f"📁 New threads of <#{channel}> work in {code(str(chosen))}.{also}"


def _not_begun(conversation: Conversation) -> bool:
    record = conversation.record
    return (
        record.sid is None
        and record.worktree is None
        and conversation.active is None
        and record.turn is None
    )


# --- worktrees --------------------------------------------------------------------------------
async def _worktree(desk: Desk, conversation: Conversation, action: str, confirm: bool) -> str:
    tree = conversation.record.worktree
    if action == "create":
        return await _create(desk, conversation)
    if tree is None:
        return "This thread has no worktree. `/worktree` makes one."
    state = await worktree.look(tree)
    if action == "status":
        return f"🌳 {code(tree.branch)} in {code(tree.path)}: {state.words}."
    if action == "merged" and not (state.clean and state.merged):
        return trouble(
            f"The worktree is kept: {state.words}.",
            f"Commit, and merge {tree.branch} in {tree.home}; or `/worktree action:abandon`.",
        )
    if action == "abandon" and not confirm and not (state.clean and state.merged):
        return trouble(
            f"This would throw away: {state.words}.",
            "If that is what you want, give it again with `confirm:True`.",
        )
    return await _remove(desk, conversation, tree, state.tip, abandon=action == "abandon")


async def _create(desk: Desk, conversation: Conversation) -> str:
    record, thread = conversation.record, conversation.thread
    if record.worktree is not None:
        state = await worktree.look(record.worktree)
        return f"🌳 This thread has one already: {code(record.worktree.branch)}, {state.words}."
    if conversation.active is not None:
        return _BUSY
    path = desk.services.config.state_dir / "worktrees" / str(thread)
    branch = worktree.branch_name(record.title, thread)
    tree, folder = await worktree.create(Path(record.cwd), path, branch)
    if not await _moved(desk, conversation, tree, folder):
        await worktree.remove(tree, abandon=True)
        return _BUSY
    return (
        f"🌳 This thread works in {code(str(folder))} from now on, on the branch {code(branch)}.\n"
        f"`/worktree action:merged` removes it when its work is merged in {code(tree.home)}."
    )


async def _remove(
    desk: Desk, conversation: Conversation, tree: Worktree, tip: str, *, abandon: bool
) -> str:
    # First the process lets go of the folder: what it had there is as it will be.
    if not await _moved(desk, conversation, None, Path(tree.home)):
        return _BUSY
    try:
        await worktree.remove(tree, abandon=abandon)
    except GitFault:
        await _moved(desk, conversation, tree, Path(tree.path))
        raise
    back = f" The branch stood at {code(tip)}: `git branch NAME {tip}` brings it back."
    return f"🌳 The worktree is removed; this thread works in {code(tree.home)} again.{back}"


async def _moved(
    desk: Desk, conversation: Conversation, tree: Worktree | None, folder: Path
) -> bool:
    """Let the thread work in another folder; false if a turn runs, and then nothing changed."""
    if conversation.active is not None or conversation.record.turn is not None:
        return False

    def change(record: Record) -> Record:
        return record.model_copy(update={"cwd": str(folder), "worktree": tree})

    desk.services.store.update(conversation.thread, change)
    # Nothing was awaited since: what begins from now on finds the new folder, and no process.
    released = await conversation.session.release(conversation.active)
    await desk.services.store.durable()
    return released


def _end(text: str) -> str:
    return text if len(text) <= 100 else f"…{text[-99:]}"

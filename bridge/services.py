"""What a conversation works with: the parts of the bot, put together once at the start."""

from dataclasses import dataclass
from pathlib import Path

from bridge.compactor import Compactor
from bridge.config import Config
from bridge.courier import Courier
from bridge.discord_io.attachments import Downloads
from bridge.discord_io.outbox import Outbox
from bridge.interact.approvals import Approvals
from bridge.naming import Naming
from bridge.runner import Runner
from bridge.spending import Spending
from bridge.tools.server import ToolServer
from state import Store


@dataclass(frozen=True)
class Services:
    """Shared by all conversations. `projects` is where the CLI keeps its transcripts."""

    config: Config
    store: Store
    runner: Runner
    outbox: Outbox
    downloads: Downloads
    approvals: Approvals
    courier: Courier
    tools: ToolServer
    projects: Path
    compactor: Compactor
    spending: Spending
    naming: Naming

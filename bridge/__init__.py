"""The Discord bot: threads of a Discord server as sessions of the Claude Code CLI."""

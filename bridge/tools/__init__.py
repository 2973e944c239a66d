"""Tools that Claude gets beside its own: an MCP server within the bot, over the CLI's pipes."""

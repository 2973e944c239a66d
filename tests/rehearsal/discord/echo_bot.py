"""A small bot for a process of its own: python echo_bot.py URL TOKEN."""

import sys

import discord
import discord.gateway
import discord.http
import yarl


class Echo(discord.Client):
    async def on_message(self, message: discord.Message) -> None:
        if message.author == self.user or message.type is not discord.MessageType.default:
            return
        if isinstance(message.channel, discord.Thread):
            await message.reply(message.content)
        else:
            thread = await message.create_thread(name=message.content)
            await thread.send(f"welcome to {message.content}")


def main(url: str, token: str) -> None:
    discord.http.Route.BASE = f"{url}/api/v10"
    gateway = yarl.URL(url.replace("http", "ws", 1) + "/")
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = gateway
    intents = discord.Intents(guilds=True, guild_messages=True, message_content=True)
    Echo(intents=intents).run(token, log_handler=None)


if __name__ == "__main__":
    main(*sys.argv[1:])

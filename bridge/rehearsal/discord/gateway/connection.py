"""Gateway connections: HELLO, IDENTIFY, heartbeats, RESUME, and every way of ending."""

import asyncio
import contextlib
import json
import uuid
from typing import Any, cast

from aiohttp import WSMsgType, web

from bridge.rehearsal.discord.document import Json
from bridge.rehearsal.discord.events import Events
from bridge.rehearsal.discord.faults import Faults
from bridge.rehearsal.discord.gateway import intents
from bridge.rehearsal.discord.gateway.session import Session, encode
from bridge.rehearsal.discord.world import World

HEARTBEAT_SECONDS = 41.25
# Discord gives a silent connection up after a missed beat and some grace.
_HEARTBEAT_GRACE = 1.5
SESSION_SECONDS = 180.0
MAX_FRAME = 4096
_FRAMES, _PER_SECONDS = 120, 60.0

UNKNOWN_OPCODE, DECODE_ERROR, NOT_AUTHENTICATED, AUTHENTICATION_FAILED = 4001, 4002, 4003, 4004
ALREADY_AUTHENTICATED, INVALID_SEQUENCE, RATE_LIMITED, SESSION_TIMED_OUT = 4005, 4007, 4008, 4009
INVALID_VERSION, INVALID_INTENTS, DISALLOWED_INTENTS = 4012, 4013, 4014
_ENDS_SESSION = frozenset(range(4003, 4015)) - {RATE_LIMITED}

_HEARTBEAT, _IDENTIFY, _PRESENCE, _VOICE, _RESUME, _MEMBERS = 1, 2, 3, 4, 6, 8


class _Closed(Exception):
    """The server ends the connection with a close code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.reason = reason


class Connection:
    """One WebSocket, from HELLO to its end."""

    def __init__(self, request: web.Request) -> None:
        self.request = request
        self.socket = web.WebSocketResponse(max_msg_size=1 << 20)
        self.outgoing: asyncio.Queue[str] = asyncio.Queue()
        self.session: Session | None = None
        self.last_beat = asyncio.get_running_loop().time()
        self._received: list[float] = []

    async def write(self) -> None:
        """Send what is queued, in order, until the connection is gone."""
        with contextlib.suppress(ConnectionError):
            while True:
                await self.socket.send_str(await self.outgoing.get())

    def abort(self) -> None:
        """End the TCP connection as a cut cable would: no close frame."""
        if self.request.transport is not None:
            self.request.transport.abort()

    def count(self, now: float) -> None:
        self._received = [at for at in self._received if at > now - _PER_SECONDS] + [now]
        if len(self._received) > _FRAMES:
            raise _Closed(RATE_LIMITED, "You are being rate limited.")


class Gateway:
    """All sessions and connections; listens to the world's events."""

    def __init__(
        self, world: World, events: Events, faults: Faults, token: str, heartbeat: float
    ) -> None:
        self.identifies = 0
        self.resumes = 0
        self.url = ""
        self._world = world
        self._events = events
        self._faults = faults
        self._token = token
        self._heartbeat = heartbeat
        self._sessions: dict[str, Session] = {}
        self._connections: set[Connection] = set()
        events.listen(self.dispatch)

    @property
    def connected(self) -> bool:
        return any(session.outgoing is not None for session in self._sessions.values())

    def dispatch(self, name: str, payload: Json, channel: str | None) -> None:
        """Tell an event to every session that asked for it and may see its channel."""
        me = self._world.bot["id"]
        if channel is not None and not self._world.sees(me, channel):
            return
        copies = self._faults.copies(name)
        for session in self._sessions.values():
            if intents.wants(session.intents, name, payload, me):
                for _ in range(copies):
                    session.send(name, intents.readable(session.intents, name, payload, me))

    # Ends on order

    async def cut(self) -> None:
        for connection in self._connections:
            connection.abort()
        await self._ended()

    async def ask_reconnect(self) -> None:
        for connection in self._connections:
            connection.outgoing.put_nowait(encode({"op": 7, "d": None}))

    async def invalidate(self) -> None:
        """Every session is lost; a connected client is told by op 9."""
        self._sessions.clear()
        for connection in self._connections:
            if connection.session is not None:
                connection.session.outgoing = connection.session = None
                connection.outgoing.put_nowait(encode({"op": 9, "d": False}))
        self._events.touch()

    async def close(self, code: int, reason: str = "") -> None:
        for connection in list(self._connections):
            if code in _ENDS_SESSION and connection.session is not None:
                self._sessions.pop(connection.session.id, None)
            await connection.socket.close(code=code, message=reason.encode())
        await self._ended()

    async def _ended(self) -> None:
        """Wait until the handlers of all present connections have noticed their end."""
        ending = set(self._connections)
        await self._events.until(
            lambda: not ending & self._connections, 5, "the gateway connections end"
        )

    # One connection

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self._faults.refuse_gateway:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=503)
        connection = Connection(request)
        await connection.socket.prepare(request)
        self._connections.add(connection)
        writer = asyncio.create_task(connection.write())
        hello = {"heartbeat_interval": int(self._heartbeat * 1000), "_trace": ["rehearsal"]}
        connection.outgoing.put_nowait(encode({"op": 10, "d": hello}))
        try:
            if request.query.get("v", "10") not in ("9", "10"):
                raise _Closed(INVALID_VERSION, "Invalid API version")
            await self._serve(connection)
        except _Closed as end:
            if end.code in _ENDS_SESSION and connection.session is not None:
                self._sessions.pop(connection.session.id, None)
            await connection.socket.close(code=end.code, message=end.reason.encode())
        finally:
            writer.cancel()
            await asyncio.wait([writer])
            self._detach(connection)
        return connection.socket

    def _detach(self, connection: Connection) -> None:
        now = asyncio.get_running_loop().time()
        self._connections.discard(connection)
        if connection.session is not None:
            connection.session.detach(connection.outgoing, now)
        for session in list(self._sessions.values()):
            if session.detached_at is not None and now - session.detached_at > SESSION_SECONDS:
                del self._sessions[session.id]
        self._events.touch()

    async def _serve(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        while True:
            patience = connection.last_beat + self._heartbeat * _HEARTBEAT_GRACE - loop.time()
            try:
                frame = await connection.socket.receive(timeout=max(patience, 0.001))
            except TimeoutError:
                raise _Closed(SESSION_TIMED_OUT, "Session timed out.") from None
            if frame.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                if connection.socket.close_code in (1000, 1001) and connection.session:
                    # A client that says goodbye gives its session up.
                    self._sessions.pop(connection.session.id, None)
                return
            connection.count(loop.time())
            self._receive(connection, frame.data)

    def _receive(self, connection: Connection, data: str | bytes) -> None:
        try:
            message = json.loads(data) if len(data) <= MAX_FRAME else None
        except ValueError:
            message = None
        if not isinstance(message, dict) or "op" not in message:
            raise _Closed(DECODE_ERROR, "Error while decoding payload.")
        payload = cast(Json, message)
        opcode, body = payload["op"], payload.get("d")
        if opcode == _HEARTBEAT:
            connection.last_beat = asyncio.get_running_loop().time()
            if not self._faults.ignore_heartbeats:
                connection.outgoing.put_nowait(encode({"op": 11, "d": None}))
        elif opcode == _IDENTIFY:
            self._identify(connection, body or {})
        elif opcode == _RESUME:
            self._resume(connection, body or {})
        elif opcode not in (_PRESENCE, _VOICE, _MEMBERS):
            raise _Closed(UNKNOWN_OPCODE, "Unknown opcode.")
        elif connection.session is None:
            raise _Closed(NOT_AUTHENTICATED, "Not authenticated.")
        elif opcode == _MEMBERS:
            self._send_members(connection.session, body or {})

    def _authenticate(self, connection: Connection, body: Json) -> None:
        if connection.session is not None:
            raise _Closed(ALREADY_AUTHENTICATED, "Already authenticated.")
        if str(body.get("token", "")).removeprefix("Bot ") != self._token:
            raise _Closed(AUTHENTICATION_FAILED, "Authentication failed.")

    def _identify(self, connection: Connection, body: Json) -> None:
        self._authenticate(connection, body)
        wanted = body.get("intents")
        if not isinstance(wanted, int) or wanted & ~intents.KNOWN:
            raise _Closed(INVALID_INTENTS, "Invalid intent(s).")
        if intents.disallowed(wanted, self._world.application_flags):
            raise _Closed(DISALLOWED_INTENTS, "Disallowed intent(s).")
        session = Session(uuid.uuid4().hex, wanted)
        session.attach(connection.outgoing)
        self._sessions[session.id] = connection.session = session
        self.identifies += 1
        session.send("READY", self._ready(session))
        if intents.wants(wanted, "GUILD_CREATE", {}, self._world.bot["id"]):
            # Lost, it stands for a server with an outage.
            for _ in range(self._faults.copies("GUILD_CREATE")):
                session.send("GUILD_CREATE", guild_create(self._world))
        self._events.touch()

    def _resume(self, connection: Connection, body: Json) -> None:
        self._authenticate(connection, body)
        session = self._sessions.get(str(body.get("session_id")))
        sequence = body.get("seq")
        if session is not None and isinstance(sequence, int) and sequence > session.sequence:
            raise _Closed(INVALID_SEQUENCE, "Invalid seq.")
        if (
            session is None
            or not isinstance(sequence, int)
            or not session.can_replay_after(sequence)
        ):
            connection.outgoing.put_nowait(encode({"op": 9, "d": False}))
            return
        for other in self._connections:
            if other.session is session:
                # The client left it behind; its end may not have been noticed yet.
                other.session = None
                other.abort()
        session.attach(connection.outgoing, after=sequence)
        connection.session = session
        self.resumes += 1
        session.send("RESUMED", {"_trace": ["rehearsal"]})
        self._events.touch()

    def _ready(self, session: Session) -> Json:
        world = self._world
        return {
            "v": 10,
            "user": world.bot | {"verified": True, "mfa_enabled": False, "email": None},
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": self.url,
            "guilds": [{"id": world.guild_id, "unavailable": True}],
            "private_channels": [],
            "relationships": [],
            "user_settings": {},
            "application": {"id": world.application_id, "flags": world.application_flags},
            "_trace": ["rehearsal"],
        }

    def _send_members(self, session: Session, body: Json) -> None:
        """Answer `request guild members` in one chunk."""
        members = list(self._world.members.values())
        if ids := body.get("user_ids"):
            listed = cast(list[Any], ids) if isinstance(ids, list) else [ids]
            wanted = {str(id) for id in listed}
            members = [member for member in members if member["user"]["id"] in wanted]
        elif query := body.get("query"):
            members = [m for m in members if m["user"]["username"].startswith(query)]
        chunk: Json = {
            "guild_id": self._world.guild_id,
            "members": members,
            "chunk_index": 0,
            "chunk_count": 1,
        }
        if "nonce" in body:
            chunk["nonce"] = body["nonce"]
        session.send("GUILD_MEMBERS_CHUNK", chunk)


def guild_create(world: World) -> Json:
    """The guild as the gateway first tells it: all channels, the active threads the bot sees."""
    me = world.bot["id"]
    return world.guild | {
        "joined_at": world.members[me]["joined_at"],
        "large": False,
        "unavailable": False,
        "member_count": len(world.members),
        "members": [world.members[me]],
        "channels": list(world.guild_channels()),
        "threads": [
            thread
            for thread in world.threads()
            if not thread["thread_metadata"]["archived"] and world.sees(me, thread["id"])
        ],
        "voice_states": [],
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }

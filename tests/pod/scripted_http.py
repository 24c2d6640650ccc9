"""An HTTP server that answers from a script: whole answers, garbage, or nothing at all."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True)
class Reply:
    """What to answer. `fate`: whole; cut (half of the body, then a reset); reset (before any byte); hang
    (never)."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    fate: Literal["whole", "cut", "reset", "hang"] = "whole"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    form: dict[str, list[str]]


class ScriptedServer:
    """Answers each request with `answer(request)`; remembers all requests."""

    def __init__(self) -> None:
        self.answer: Callable[[Request], Reply] = lambda _request: Reply(404)
        self.requests: list[Request] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *rest = head.decode().split("\r\n")
                method, target, _ = first.split(" ")
                headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in rest if line)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                url = urlsplit(target)
                request = Request(method, url.path, parse_qs(url.query), headers, parse_qs(body.decode()))
                self.requests.append(request)
                await self._reply(self.answer(request), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _reply(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        if reply.fate == "hang":
            await asyncio.sleep(3600)
        if reply.fate == "reset":
            writer.transport.abort()
            raise ConnectionResetError
        headers = {"Content-Length": str(len(reply.body)), **reply.headers}
        head = (
            f"HTTP/1.1 {reply.status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
        )
        writer.write(
            head.encode() + (reply.body[: len(reply.body) // 2] if reply.fate == "cut" else reply.body)
        )
        await writer.drain()
        if reply.fate == "cut":
            writer.transport.abort()
            raise ConnectionResetError


@asynccontextmanager
async def scripted_server() -> AsyncIterator[ScriptedServer]:
    """A running server on a free port."""
    script = ScriptedServer()
    tasks: set[asyncio.Task[None]] = set()

    def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(script.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0)
    script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield script
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

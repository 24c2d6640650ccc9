"""A TCP proxy that cuts connections after a random number of bytes, in either direction: in the middle of a
statement, of an answer, or between a commit and its acknowledgement."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from urllib.parse import urlsplit, urlunsplit


class ByteCutter:
    """Forwards bytes. While `mean_bytes` is set, each chunk may be the last: the chance grows with its
    length, and only a random part of it still gets through. `cuts` counts."""

    def __init__(self, host: str, port: int, seed: int) -> None:
        self._target = (host, port)
        self._random = Random(seed)
        self.mean_bytes: int | None = None
        self.cuts = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.close()
            return
        ways = [
            asyncio.create_task(self._forward(reader, server_writer)),
            asyncio.create_task(self._forward(server_reader, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in ways:
                task.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            server_writer.transport.abort()
            writer.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if self.mean_bytes is not None and self._random.random() < len(data) / self.mean_bytes:
                self.cuts += 1
                writer.write(data[: self._random.randrange(len(data) + 1)])
                await writer.drain()
                return
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def byte_cutter(url: str, seed: int) -> AsyncIterator[tuple[ByteCutter, str]]:
    """A running proxy in front of the server of `url`, and the URL through it."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    cutter = ByteCutter(parts.hostname, parts.port or 5432, seed)
    tasks: set[asyncio.Task[None]] = set()

    def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(cutter.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    userinfo, at, _ = parts.netloc.rpartition("@")
    try:
        yield cutter, urlunsplit(parts._replace(netloc=f"{userinfo}{at}127.0.0.1:{port}"))
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

"""A TCP proxy between a pod and PostgreSQL that loses answers: the server has done the work, nobody hears
of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from urllib.parse import urlsplit, urlunsplit


class CuttingProxy:
    """Forwards bytes. With `probability` an answer of the server is thrown away and the connection cut.
    `cuts` counts."""

    def __init__(self, host: str, port: int, probability: float, seed: int) -> None:
        self._target = (host, port)
        self.probability = probability
        self._random = Random(seed)
        self.port = 0
        self.cuts = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.close()
            return
        up = asyncio.create_task(self._forward(reader, server_writer, cutting=False))
        down = asyncio.create_task(self._forward(server_reader, writer, cutting=True))
        try:
            await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (up, down):
                task.cancel()
            server_writer.transport.abort()
            writer.transport.abort()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, cutting: bool
    ) -> None:
        answers = 0
        while data := await reader.read(65536):
            answers += 1
            if cutting and answers > 4 and self._random.random() < self.probability:  # let it log in first
                self.cuts += 1
                return
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def cutting_proxy(
    url: str, probability: float, seed: int = 1
) -> AsyncIterator[tuple[CuttingProxy, str]]:
    """A running proxy in front of the server of `url`, and the URL through it."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    proxy = CuttingProxy(parts.hostname, parts.port or 5432, probability, seed)
    tasks: set[asyncio.Task[None]] = set()

    def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(proxy.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    userinfo, at, _ = parts.netloc.rpartition("@")
    try:
        yield proxy, urlunsplit(parts._replace(netloc=f"{userinfo}{at}127.0.0.1:{proxy.port}"))
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

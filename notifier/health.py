"""Health and metrics over HTTP.

/healthz answers when the event loop does, and asks nobody: a dead network must not get all pods restarted.
/readyz says whether database and network were seen lately. /metrics is Prometheus text.
"""

import contextlib
import socket
from collections.abc import Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest


def _listen(port: int) -> socket.socket:
    """One socket for IPv6 and IPv4, so that "any free port" is the same port for both."""
    if socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))


class HealthServer:
    """Serves on all interfaces at `port` (0: any free one; see `port` after start).

    `unready` returns the reasons why the pod isn't ready; an empty list means that it is.
    """

    def __init__(self, port: int, registry: CollectorRegistry, unready: Callable[[], list[str]]) -> None:
        self.port = port
        self._registry = registry
        self._unready = unready
        application = web.Application()
        application.router.add_get("/healthz", self._healthz)
        application.router.add_get("/readyz", self._readyz)
        application.router.add_get("/metrics", self._metrics)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)

    async def start(self) -> None:
        """Start to listen. Raises OSError if the port is taken."""
        await self._runner.setup()
        listening = _listen(self.port)
        self.port = listening.getsockname()[1]
        await web.SockSite(self._runner, listening).start()

    async def stop(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _request: web.Request) -> web.Response:
        reasons = self._unready()
        return web.Response(status=503 if reasons else 200, text="\n".join(reasons or ["ready"]) + "\n")

    async def _metrics(self, _request: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

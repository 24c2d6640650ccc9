"""Health and metrics over HTTP.

/healthz answers when the event loop does, and asks nobody: a dead network must not get all pods restarted.
/readyz says whether database and network were seen lately. /metrics is Prometheus text.
"""

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest


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
        await web.TCPSite(self._runner, None, self.port).start()
        # A free port is another one for IPv4 (an address of two parts) than for IPv6: say the former.
        addresses = sorted(self._runner.addresses, key=len)
        self.port = addresses[0][1]

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

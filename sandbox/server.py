"""The sandbox as a server: the network, its closes by the clock or by hand, and HTTP around it."""

import argparse
import asyncio
import contextlib
import json
import math
import signal
import time
from collections.abc import Sequence
from random import Random
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from stellar_sdk import Keypair

from sandbox.amounts import to_stroops
from sandbox.clock import Clock
from sandbox.control import Control
from sandbox.faults import NETWORK_KINDS, Faults, UnknownFault
from sandbox.foreign import Disturbance, Sender
from sandbox.horizon.errors import Problem, bad_request, submission_timeout
from sandbox.horizon.interference import Interference
from sandbox.horizon.routes import Horizon
from sandbox.horizon.submission import Arrivals
from sandbox.horizon.transactions import transaction_resource
from sandbox.ledger import KEPT_LEDGERS, Header, LedgerState
from sandbox.network import Conditions, Network, Parameters
from sandbox.rpc.endpoint import Rpc
from sandbox.strkeys import InvalidAddress, account_key
from sandbox.transaction import Submission

DEFAULT_PASSPHRASE = "Standalone Network ; February 2017"  # noqa: S105 - public by nature
_FRIENDBOT = "10000"
_MANUAL_CLOSE_SECONDS = 5.0
_CONDITION_OF = {
    "surge": "surge_rate",
    "lag": "lag",
    "retention": "retention",
    "slow_closes": "close_factor",
    "uneven_closes": "close_jitter",
    "stall": "close_factor",
}


class Sandbox:
    """A local Stellar network that serves Horizon's API on a port of its own.

    `close_seconds` None: ledgers close only by `close_ledger` (and by friendbot). `port` 0: any free port.
    `submit_timeout`: seconds until a synchronous submission answers 504. `start_time`: a stopped clock (Unix
    seconds).
    """

    def __init__(
        self,
        passphrase: str = DEFAULT_PASSPHRASE,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        close_seconds: float | None = None,
        seed: int = 0,
        max_operations: int = 1000,
        submit_timeout: float = 30.0,
        start_time: float | None = None,
    ) -> None:
        parameters = Parameters(
            passphrase,
            max_operations=max_operations,
            close_seconds=close_seconds or _MANUAL_CLOSE_SECONDS,
            seed=seed,
        )
        self.network = Network(parameters, Clock(start_time))
        self.faults = Faults(seed)
        self.close_seconds = close_seconds
        self._host, self._port = host, port
        self._sender = Sender(self.network)
        self._arrivals = Arrivals(self.network)
        self._submit_timeout = submit_timeout
        self._wanted: dict[str, asyncio.Future[Submission]] = {}
        self._expiries: list[tuple[float, float, str]] = []
        self._jitter = Random(f"closes {seed}")  # noqa: S311 - lateness is to be repeatable
        self._runner: web.AppRunner | None = None
        self._closer: asyncio.Task[None] | None = None

    # running

    async def start(self) -> None:
        """Binds the port and, unless closes are by hand, starts closing ledgers."""
        interference = Interference(self.network, self.faults, self._submit_timeout)
        app = web.Application(middlewares=[interference.middleware()], client_max_size=4 << 20)
        horizon = Horizon(self.network, self._arrivals, self._submit_timeout, self._friendbot)
        app.add_routes(horizon.routes())
        app.add_routes(Rpc(self.network, self.faults).routes())
        app.add_routes(Control(self).routes())
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        if self.close_seconds is not None:
            self._closer = asyncio.create_task(self._close_by_the_clock(self.close_seconds))

    async def stop(self) -> None:
        """Stops closing and serving."""
        if self._closer is not None:
            self._closer.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._closer
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        """Horizon's address, without a slash at the end."""
        return f"http://{self._host}:{self._port}"

    @property
    def rpc_url(self) -> str:
        """Stellar RPC's address."""
        return f"{self.url}/rpc"

    @property
    def ledger(self) -> LedgerState:
        """The entries as of the last closed ledger."""
        return self.network.state

    @property
    def root(self) -> Keypair:
        """The key pair that holds all coins at the start."""
        return self._sender.root

    # closing

    async def _close_by_the_clock(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        closed, late = loop.time(), 0.0
        while True:
            self._end_disturbances()
            due = closed + seconds * (self.network.conditions.close_factor + late)
            wait = due - loop.time()
            if wait > 0:
                await asyncio.sleep(min(wait, 0.05) if wait > seconds else wait)
                continue
            closed = max(due, loop.time() - seconds)
            late = self.network.conditions.close_jitter * self._jitter.random()
            self.close_ledger()

    def close_ledger(self) -> Header:
        """Closes a ledger now and lets lookups read on; its header."""
        wanted = {address: future for address, future in self._wanted.items() if not future.done()}
        self._wanted.clear()
        new = {address: to_stroops(_FRIENDBOT) for address in wanted if self._is_new(address)}
        sent = self._sender.fund(new)
        record = self.network.close()
        self._end_disturbances()
        self.network.ingest()
        self._arrivals.announce()
        for position, address in enumerate(new):
            wanted[address].set_result(sent[position // 100])
        return record.header

    # accounts to start with

    def _is_new(self, address: str) -> bool:
        return self.network.state.account(account_key(address)) is None

    def fund(self, accounts: dict[str, str]) -> Header:
        """Opens accounts with balances in lumens and closes a ledger. ValueError for a bad or known
        address."""
        known = [address for address in accounts if not self._is_new(address)]
        if known:
            raise ValueError(f"exists already: {', '.join(known)}")
        self._sender.fund({address: to_stroops(amount) for address, amount in accounts.items()})
        return self.close_ledger()

    async def _friendbot(self, address: str) -> dict[str, Any]:
        try:
            known = not self._is_new(address)
        except InvalidAddress as error:
            raise bad_request("addr", "base32 decode failed") from error
        if known or address in self._wanted:
            raise Problem("bad_request", "Bad Request", 400, "account already funded to starting balance")
        future: asyncio.Future[Submission] = asyncio.get_running_loop().create_future()
        self._wanted[address] = future
        if self.close_seconds is None:
            self.close_ledger()
        submission = await future
        try:
            record = await self._arrivals.find_or_wait(submission.hash, self._submit_timeout)
        except TimeoutError as error:
            raise submission_timeout(submission.hash.hex(), submission.envelope) from error
        return transaction_resource(self.url, record)

    # disturbing

    def disturb(self, disturbance: Disturbance) -> Submission:
        """Puts a foreign transaction into the next ledger. ValueError if it can't be built."""
        return self._sender.disturb(disturbance)

    def disturb_network(
        self,
        kind: str,
        *,
        ledgers: int = 0,
        rate: int = 0,
        factor: float = 2,
        for_ledgers: int = 0,
        for_seconds: float = 0,
    ) -> None:
        """Changes the network's conditions (see faults.NETWORK_KINDS), for a while if that is given."""
        conditions = self.network.conditions
        if kind == "surge":
            conditions.surge_rate = rate or 1000
        elif kind == "lag":
            if not 0 <= ledgers < KEPT_LEDGERS:
                raise UnknownFault(f"lookups can lag by at most {KEPT_LEDGERS - 1} ledgers")
            conditions.lag = ledgers
        elif kind == "retention":
            conditions.retention = ledgers
        elif kind == "slow_closes":
            conditions.close_factor = factor
        elif kind == "uneven_closes":
            conditions.close_jitter = factor
        elif kind == "stall":
            conditions.close_factor = math.inf
        else:
            raise UnknownFault(kind)
        if for_ledgers or for_seconds:
            last = self.network.latest.sequence + for_ledgers if for_ledgers else math.inf
            until = time.monotonic() + for_seconds if for_seconds else math.inf
            self._expiries.append((last, until, _CONDITION_OF[kind]))

    def _end_disturbances(self) -> None:
        sequence, now, fresh = self.network.latest.sequence, time.monotonic(), Conditions()
        for last, until, name in self._expiries:
            if sequence >= last or now >= until:
                setattr(self.network.conditions, name, getattr(fresh, name))
        self._expiries = [each for each in self._expiries if sequence < each[0] and now < each[1]]

    def set_fault(self, given: dict[str, Any]) -> list[int]:
        """Sets a fault from its JSON form; the ids of its rules. UnknownFault, TypeError or KeyError if it is
        wrong."""
        rule = dict(given)
        kind = str(rule.pop("kind"))
        if kind == "chaos":
            return [each.id for each in self.faults.add_chaos(**rule)]
        if kind in NETWORK_KINDS:
            self.disturb_network(kind, **rule)
            return []
        return [self.faults.add(kind, **rule).id]

    def clear_faults(self, ids: Sequence[int] | None = None) -> None:
        """Removes some rules; without ids every rule and every disturbance of the network."""
        self.faults.clear(ids)
        if ids is None:
            self._expiries.clear()
            self.network.conditions = Conditions()
            self.network.ingest()
            self._arrivals.announce()


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="paylock sandbox", description="A local Stellar network with Horizon's API."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to bind (default: loopback only)")
    parser.add_argument("--port", type=int, default=8000, help="port to bind; 0: any free one (default 8000)")
    parser.add_argument("--passphrase", default=DEFAULT_PASSPHRASE, help="network passphrase")
    parser.add_argument(
        "--close-seconds", default="5", help="seconds between closes, or 'manual' (default 5)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of shuffled orders and random faults (default 0)"
    )
    parser.add_argument(
        "--max-operations", type=int, default=1000, help="operations per ledger (default 1000)"
    )
    parser.add_argument("--submit-timeout", type=float, default=30, help="seconds until 504 (default 30)")
    parser.add_argument("--start-time", type=float, default=None, help="stop the clock at this Unix time")
    parser.add_argument(
        "--fault", action="append", default=[], metavar="JSON", help="a fault rule; may be repeated"
    )
    return parser.parse_args(argv)


async def _serve(arguments: argparse.Namespace) -> None:
    by_hand = arguments.close_seconds == "manual"
    sandbox = Sandbox(
        arguments.passphrase,
        host=arguments.host,
        port=arguments.port,
        close_seconds=None if by_hand else float(arguments.close_seconds),
        seed=arguments.seed,
        max_operations=arguments.max_operations,
        submit_timeout=arguments.submit_timeout,
        start_time=arguments.start_time,
    )
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    for text in arguments.fault:
        sandbox.set_fault(json.loads(text))
    async with sandbox:
        line = {
            "horizon": sandbox.url,
            "rpc": sandbox.rpc_url,
            "passphrase": arguments.passphrase,
            "root": sandbox.root.secret,
        }
        print(json.dumps(line), flush=True)
        await stopped.wait()


def main(argv: Sequence[str] | None = None) -> int:
    """Serves until SIGTERM or SIGINT. Prints one JSON line when it serves."""
    asyncio.run(_serve(_arguments(argv)))
    return 0

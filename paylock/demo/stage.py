"""What must stand before anybody can be paid: database, network, accounts, employers."""

import json
import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import psycopg
from psycopg import sql
from rich.console import Console
from stellar_sdk import Asset, Keypair
from stellar_sdk.sep.mnemonic import StellarMnemonic

from paylock import example_company as example
from paylock import network_setup
from paylock.demo.place import Place
from paylock.demo.processes import Process, Processes
from paylock.demo.sandbox_control import open_accounts
from paylock.demo.telling import run_command, say
from paylock.migrate import migrate
from paylock.postgres_embedded import EmbeddedPostgres

PASSPHRASE = "Paylock demo ; a sandbox on this machine"  # noqa: S105  # a network's name, no secret
DATABASE = "paylock"
CHANNELS_PER_EMPLOYER = 3
_POCKET_MONEY = "10"  # XLM that an account needs for its reserves
_EMPLOYER_LUMENS = "1000000"
_EMPLOYER_TOKENS = "10000000"


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that stands once the employers are set up.

    admin, admin_url: the superuser's. url_of_login(login, password): that login's URL. clerk_url: that of a
    login in payroll_operator. funding_addresses: by organization. pod_variables: what the pods' environments
    have in common.
    """

    admin: psycopg.Connection
    admin_url: str
    url_of_login: Callable[[str, str], str]
    clerk_url: str
    horizon_url: str
    funding_addresses: Mapping[str, str]
    channel_addresses: frozenset[str]
    pod_variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The running network."""

    horizon_url: str


def create_database(postgres: EmbeddedPostgres) -> str:
    """A database with Paylock installed; its superuser's URL."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
    url = postgres.url_of(DATABASE)
    migrate(url)
    return url


def create_login(admin: psycopg.Connection, name: str, role: str) -> str:
    """A login that is a member of `role` and of nothing else; its password."""
    password = secrets.token_hex(16)
    admin.execute(
        sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE {}").format(
            sql.Identifier(name), password, sql.Identifier(role)
        )
    )
    return password


def start_sandbox(processes: Processes, close_seconds: float) -> Process:
    """The network, on a free port; `wait_for_sandbox` says where."""
    return processes.start(
        "sandbox", "sandbox",
        "--port", "0", "--passphrase", PASSPHRASE, "--close-seconds", str(close_seconds),
        variables={},
    )  # fmt: skip


def wait_for_sandbox(process: Process) -> Sandbox:
    """Returns when it serves. Raises ChildEnded."""
    while True:
        for line in process.log.read_text(errors="replace").splitlines():
            if line.startswith("{"):
                return Sandbox(json.loads(line)["horizon"])
        process.check()
        time.sleep(0.02)


def set_stage(
    place: Place, admin: psycopg.Connection, postgres: EmbeddedPostgres, sandbox: Sandbox, console: Console
) -> Stage:
    """Accounts on the network, the employers and their channels in the database."""

    def url_of_login(login: str, password: str) -> str:
        return postgres.url_of(DATABASE, login, password)

    employers = {name: example.funding_account(name) for name in example.DISPLAY_NAMES}
    _open_accounts(sandbox, employers, console)
    clerk_url = url_of_login("demo_clerk", create_login(admin, "demo_clerk", "payroll_operator"))
    with psycopg.connect(clerk_url, autocommit=True) as clerk:
        for name, funding in employers.items():
            clerk.execute("SELECT payroll.create_organization(%s, %s)", (name, example.DISPLAY_NAMES[name]))
            clerk.execute("SELECT payroll.add_funding_account(%s, %s)", (name, funding.public_key))
    secrets_of_employers = [funding.secret for funding in employers.values()]
    variables = {
        "PAYLOCK_HORIZON_URL": sandbox.horizon_url,
        "PAYLOCK_NETWORK_PASSPHRASE": PASSPHRASE,
        "PAYLOCK_CHANNEL_SEED_FILE": place.keep_secret("channel-seed", StellarMnemonic().generate()),
        "PAYLOCK_FUNDING_SECRETS_FILE": place.keep_secret("funding-secrets", *secrets_of_employers),
    }
    for name in employers:
        add = ["channel", "add", "--organization", name, str(CHANNELS_PER_EMPLOYER)]
        run_command(console, add, clerk_url, variables)
    channels = admin.execute("SELECT address FROM payroll.channel_overview").fetchall()
    return Stage(
        admin=admin,
        admin_url=postgres.url_of(DATABASE),
        url_of_login=url_of_login,
        clerk_url=clerk_url,
        horizon_url=sandbox.horizon_url,
        funding_addresses={name: funding.public_key for name, funding in employers.items()},
        channel_addresses=frozenset(address for (address,) in channels),
        pod_variables=variables,
    )


def _open_accounts(sandbox: Sandbox, employers: Mapping[str, Keypair], console: Console) -> None:
    payees = example.example_payees()
    network = network_setup.connect(sandbox.horizon_url, PASSPHRASE)
    issuers = {code: example.issuer(code) for code in example.ISSUED_ASSETS}
    payee_keys = example.accounts_to_open(payees)
    balances = {key.public_key: _POCKET_MONEY for key in (*issuers.values(), *payee_keys)}
    balances |= {funding.public_key: _EMPLOYER_LUMENS for funding in employers.values()}
    open_accounts(sandbox.horizon_url, balances)
    assets = [Asset(code, key.public_key) for code, key in issuers.items()]
    network_setup.create_trustlines(
        network,
        [
            *((funding, asset) for funding in employers.values() for asset in assets),
            *example.trustlines_to_add(payees),
        ],
    )
    tokens = {funding.public_key: _EMPLOYER_TOKENS for funding in employers.values()}
    with ThreadPoolExecutor() as senders:  # different accounts, so all of it fits into one ledger
        issued = [
            senders.submit(network_setup.issue, network, key, code, tokens) for code, key in issuers.items()
        ]
        marked = [
            senders.submit(network_setup.demand_memos, network, account)
            for account in example.accounts_that_demand_memos(payees)
        ]
        for future in (*issued, *marked):
            future.result()
    say(
        console,
        f"on it: {len(issuers)} issuers ({', '.join(issuers)}), {len(employers)} employers with money, "
        f"{len(payee_keys)} accounts of payees",
    )

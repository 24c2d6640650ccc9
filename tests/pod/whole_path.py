"""Steps that the tests of the whole path share."""

import asyncio

from tests.database_server import Database
from tests.support.company import Company, Pay, Town, company, key


async def run_ended(database: Database, seconds: float = 90) -> list[tuple[str, int, int]]:
    """Wait until there are runs and none is open; (state, paid, failed) of each."""
    async with asyncio.timeout(seconds):
        while True:
            async with await database.connect_async() as connection:
                cursor = await connection.execute(
                    "SELECT state::text, paid_count, failed_count FROM payroll.pay_run ORDER BY run_id"
                )
                runs = await cursor.fetchall()
            if runs and all(state in ("paid", "partly_paid", "cancelled") for state, _, _ in runs):
                return [(state, paid, failed) for state, paid, failed in runs]
            await asyncio.sleep(0.1)


async def open_shop(town: Town, database: Database, channels: int = 3, name: str = "acme") -> Company:
    """A company that is on the network and in the database."""
    it = company(name, channels)
    await town.open_company(it)
    await town.register(database, it)
    return it


async def payees(town: Town, count: int, amount: str = "10", name: str = "payee") -> list[Pay]:
    """Payees whose accounts exist, each to be paid `amount` XLM."""
    pays = [Pay(f"{name}{i}", key(name, i).public_key, amount) for i in range(count)]
    await town.fund({pay.destination: "5" for pay in pays})
    return pays

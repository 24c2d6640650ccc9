"""`paylock doctor` and `paylock run`, against a real database and the sandbox."""

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from click.testing import CliRunner, Result

from paylock.cli import root
from sandbox.server import Sandbox
from tests.database_server import Database
from tests.support.company import Company, Pay, Town, add_schedule, company, key

PASSPHRASE = "Paylock tests ; 2026"


@pytest.fixture
async def network() -> AsyncIterator[Sandbox]:
    async with Sandbox(PASSPHRASE, close_seconds=0.1, submit_timeout=5.0) as sandbox:
        yield sandbox


@pytest.fixture
async def town(network: Sandbox, database: Database) -> AsyncIterator[Town]:
    async with aiohttp.ClientSession() as session:
        yield Town(session, network.url, PASSPHRASE)


async def paylock(*arguments: str) -> Result:
    """Run the command line beside the sandbox, which lives in this event loop."""
    return await asyncio.to_thread(CliRunner().invoke, root, arguments)


async def findings(
    database: Database, network: Sandbox, *options: str, role: str = ""
) -> dict[str, dict[str, str]]:
    """The doctor's worst finding of each check."""
    url = database.url_for(role) if role else database.url
    result = await paylock("doctor", "-d", url, "--horizon-url", network.url, "--json", *options)
    found = json.loads(result.stdout)
    worst: dict[str, dict[str, str]] = {}
    for finding in found:
        if finding["check"] not in worst or finding["level"] != "ok":
            worst[finding["check"]] = finding
    assert result.exit_code == any(finding["level"] == "fail" for finding in found)
    return worst


@pytest.fixture
async def acme(database: Database, network: Sandbox, town: Town) -> Company:
    it = company("acme", channels=2)
    await town.open_company(it)
    await town.register(database, it)
    return it


@pytest.fixture
def keys(acme: Company, tmp_path: Path) -> list[str]:
    seed, secrets = tmp_path / "seed", tmp_path / "secrets"
    seed.write_text(acme.channel_seed_hex + "\n")
    secrets.write_text(acme.funding.secret + "\n")
    return ["--channel-seed-file", str(seed), "--funding-secrets-file", str(secrets)]


async def test_a_sound_installation_has_nothing_to_mend(
    database: Database, network: Sandbox, keys: list[str]
) -> None:
    found = await findings(database, network, *keys)
    bad = {check: f for check, f in found.items() if f["level"] != "ok" and check != "durability"}
    assert not bad, bad
    assert "ledger" in found["node"]["detail"]
    assert {"functions", "grants", "other grants", "migrations", "channels", "keys"} <= set(found)


async def test_an_auditor_sees_everything_but_the_migrations(
    database: Database, network: Sandbox, keys: list[str]
) -> None:
    found = await findings(database, network, *keys, role="payroll_auditor")
    assert found["migrations"]["level"] == "warn"
    assert found["channels"]["level"] == found["grants"]["level"] == found["functions"]["level"] == "ok"


async def test_a_pods_login_is_told_that_it_may_not_look(database: Database, network: Sandbox) -> None:
    found = await findings(database, network, role="payroll_pod")
    assert found["work"]["level"] == "warn"
    assert "payroll_auditor" in found["work"]["advice"]


async def test_an_empty_database_is_told_to_migrate(bare_database: Database) -> None:
    result = await paylock("doctor", "-d", bare_database.url)
    assert result.exit_code == 1
    assert "run: paylock migrate" in result.stdout


async def test_a_function_that_was_replaced_by_hand_is_named(database: Database, network: Sandbox) -> None:
    with database.connect() as connection:
        connection.execute(
            "CREATE OR REPLACE FUNCTION payroll.heartbeat(pod text) RETURNS void"
            " LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, payroll, pg_temp"
            " AS 'BEGIN NULL; END'"
        )
    found = await findings(database, network)
    assert found["functions"]["level"] == "fail"
    assert "heartbeat" in found["functions"]["detail"]
    assert "record_envelope" not in found["functions"]["detail"]


async def test_rights_given_or_taken_by_hand_are_named(database: Database, network: Sandbox) -> None:
    with database.connect() as connection:
        connection.execute("GRANT SELECT ON payroll.payment TO payroll_pod")
        connection.execute("REVOKE EXECUTE ON FUNCTION payroll.heartbeat(text) FROM payroll_pod")
        connection.execute("GRANT EXECUTE ON FUNCTION payroll.release_batch(bigint, uuid) TO PUBLIC")
    found = await findings(database, network)
    assert "too many: " in found["grants"]["detail"]
    assert "payroll_pod on payment" in found["grants"]["detail"]
    assert "missing: payroll_pod on heartbeat" in found["grants"]["detail"]
    assert "PUBLIC on release_batch" in found["other grants"]["detail"]


async def test_another_network_is_refused(database: Database, keys: list[str]) -> None:
    async with Sandbox("Another network ; 2026", close_seconds=0.1) as other:
        found = await findings(database, other, *keys)
    assert found["node"]["level"] == "fail"
    assert "Another network" in found["node"]["detail"]


async def test_a_key_that_does_not_belong_to_a_channel_is_named(
    database: Database, network: Sandbox, keys: list[str], tmp_path: Path
) -> None:
    (tmp_path / "seed").write_text("00" * 32)
    found = await findings(database, network, *keys)
    assert found["keys"]["level"] == "fail"
    assert "another seed" in found["keys"]["detail"]


async def test_a_channel_that_a_stranger_used_is_named(
    database: Database, network: Sandbox, town: Town, acme: Company
) -> None:
    index, address = acme.channels[1]
    sequence = await town.sequence(address)
    builder = await town.builder(acme.funding.public_key)
    builder.append_bump_sequence_op(sequence + 5, source=address)
    await town.send(builder, acme.funding, acme.channel_key(index))
    found = await findings(database, network)
    assert found["channels"]["level"] == "fail"
    assert f"channel {index} of acme" in found["channels"]["detail"]
    assert "stop the pods" in found["channels"]["advice"]


async def test_what_waits_for_a_person_is_named(database: Database, network: Sandbox, acme: Company) -> None:
    add_schedule(database, acme, [Pay("1", key("payee").public_key)])
    with database.connect() as connection:
        connection.execute("UPDATE payroll.pay_schedule SET next_open_at = now() - interval '1 hour'")
        connection.execute(
            "UPDATE payroll.channel_account SET state = 'quarantined', state_reason = 'seen'"
            " WHERE key_index = 0"
        )
    found = await findings(database, network)
    assert "acme/salaries" in found["overdue schedules"]["detail"]
    assert "acme channel 0: seen" in found["quarantined channels"]["detail"]


@pytest.fixture
def run_id(database: Database, acme: Company) -> int:
    """An open run of two payees, one of whose names would be a formula in a spreadsheet."""
    pays = [Pay("1", key("a").public_key, "12.5"), Pay("2", key("b").public_key, "1234567.0000001")]
    add_schedule(database, acme, pays)
    with database.connect() as connection:
        connection.execute("UPDATE payroll.payee SET name = '=1+1' WHERE reference = 'salaries-1'")
        row = connection.execute("SELECT run_id FROM payroll.claim_due_schedules('test')").fetchone()
    assert row is not None
    return int(row[0])


async def test_runs_are_listed_and_filtered(database: Database, run_id: int) -> None:
    url = database.url_for("payroll_operator")

    async def listed(*options: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(
            (await paylock("run", "list", "-d", url, "--json", *options)).stdout
        )
        return found

    (run,) = await listed()
    assert (run["run_id"], run["organization"], run["state"], run["pending"]) == (
        run_id,
        "acme",
        "approved",
        2,
    )
    assert await listed("--state", "paid") == []
    assert len(await listed("--organization", "ACME")) == 1
    assert await listed("--schedule", "x") == []
    assert "acme" in (await paylock("run", "list", "-d", url)).stdout
    assert "no such run" in (await paylock("run", "list", "-d", url, "--state", "paid")).stdout


async def test_a_run_is_shown_with_exact_amounts(database: Database, run_id: int) -> None:
    url = database.url_for("payroll_auditor")
    shown = json.loads((await paylock("run", "show", "-d", url, str(run_id), "--json")).stdout)
    assert [payment["amount"] for payment in shown["payments"]] == ["12.5", "1234567.0000001"]
    assert shown["totals"][0]["amount"] == "1234579.5000001"
    text = (await paylock("run", "show", "-d", url, str(run_id))).stdout
    assert "2 pending" in text
    assert "2 payments" in text


async def test_a_runs_csv_holds_no_formula(database: Database, run_id: int) -> None:
    url = database.url_for("payroll_auditor")
    result = await paylock("run", "show", "-d", url, str(run_id), "--csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["name"] for row in rows] == ["'=1+1", "salaries-2"]
    assert [row["amount"] for row in rows] == ["12.5", "1234567.0000001"]


async def test_an_unknown_run_is_named(database: Database) -> None:
    result = await paylock("run", "show", "-d", database.url, "99")
    assert result.exit_code == 1
    assert "there is no run 99" in result.output

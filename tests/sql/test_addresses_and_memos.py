"""The checks at the door: strkeys against stellar-sdk, memos by bytes, amounts without rounding."""

import random
from decimal import Decimal

import psycopg
import pytest
from psycopg.rows import TupleRow
from stellar_sdk import MuxedAccount, StrKey

from tests.sql.payroll_rows import account, muxed, new_organization, new_payee, one, refused, some_bytes

Connection = psycopg.Connection[TupleRow]

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def is_destination(address: str) -> bool:
    """stellar-sdk's opinion."""
    if address.startswith("G"):
        return StrKey.is_valid_ed25519_public_key(address)
    return address.startswith("M") and StrKey.is_valid_med25519_public_key(address)


def judged(connection: Connection, addresses: list[str]) -> dict[str, bool]:
    """The database's opinion about each address."""
    found = connection.execute(
        "SELECT sent.address, payroll.is_account_address(sent.address) OR"
        " payroll.is_muxed_address(sent.address)"
        " FROM unnest(%s::text[]) AS sent (address)",
        (addresses,),
    ).fetchall()
    return dict(found)


def test_every_valid_account_and_muxed_address_is_accepted(connection: Connection) -> None:
    chance = random.Random(1)
    keys = [chance.randbytes(32) for _ in range(300)] + [bytes(32), b"\xff" * 32]
    ids = [chance.getrandbits(64) for _ in range(300)] + [0, 2**64 - 1]
    accounts = [StrKey.encode_ed25519_public_key(key) for key in keys]
    muxeds = [
        MuxedAccount(address, number).account_muxed for address, number in zip(accounts, ids, strict=True)
    ]
    known = [address for address in muxeds if address]
    assert len(known) == len(accounts)
    assert set(judged(connection, accounts + known).values()) == {True}


def test_one_wrong_character_anywhere_is_refused(connection: Connection) -> None:
    """Each character of the alphabet at each place of one G and one M address: the checksum misses none."""
    changed = [
        address[:place] + letter + address[place + 1 :]
        for address in (account("one"), muxed("one"))
        for place in range(len(address))
        for letter in ALPHABET
        if letter != address[place]
    ]
    assert set(judged(connection, changed).values()) == {False}


def test_the_database_and_stellar_sdk_agree_about_damaged_addresses(connection: Connection) -> None:
    chance = random.Random(2)
    damaged = []
    for number in range(400):
        address = account(number) if number % 2 else muxed(number)
        kind = number % 8
        place = chance.randrange(len(address) - 1)
        if kind < 2:  # two characters change places
            address = address[:place] + address[place + 1] + address[place] + address[place + 2 :]
        elif kind < 4:  # one is missing
            address = address[:place] + address[place + 1 :]
        elif kind < 6:  # one too many
            address = address[:place] + chance.choice(ALPHABET) + address[place:]
        else:
            address = address[:place] + chance.choice("0189abcxyz =-é") + address[place + 1 :]
        damaged.append(address)
    answers = judged(connection, damaged)
    assert answers == {address: is_destination(address) for address in damaged}


@pytest.mark.parametrize(
    "address",
    [
        "",
        "G",
        " " + account("x"),
        account("x") + " ",
        account("x") + "\n",
        account("x").lower(),
        muxed("x").lower(),
        account("x")[:-1],
        account("x") + "A",
        account("x") + "======",
        StrKey.encode_ed25519_secret_seed(some_bytes("x")),
        StrKey.encode_contract(some_bytes("x")),
        StrKey.encode_pre_auth_tx(some_bytes("x")),
        StrKey.encode_sha256_hash(some_bytes("x")),
        StrKey.encode_claimable_balance(bytes([0]) + some_bytes("x")),
        StrKey.encode_liquidity_pool(some_bytes("x")),
        "G" + muxed("x")[1:],
        "M" + account("x")[1:],
    ],
)
def test_other_kinds_and_shapes_of_keys_are_refused(connection: Connection, address: str) -> None:
    assert judged(connection, [address]) == {address: False}


def test_bits_after_the_end_of_a_muxed_address_are_refused(connection: Connection) -> None:
    """69 base32 characters carry 345 bits for 344: SEP-23 demands that the last one is 0."""
    address = muxed("x")
    last = ALPHABET.index(address[-1])
    assert last % 2 == 0
    twin = address[:-1] + ALPHABET[last + 1]
    assert judged(connection, [address, twin]) == {address: True, twin: False}


@pytest.mark.parametrize("column", ["funding_account", "channel_account"])
def test_an_account_of_ours_is_never_a_muxed_address(connection: Connection, column: str) -> None:
    organization = new_organization(connection)
    more = ("", "") if column == "funding_account" else (", key_index, sequence", ", 5, 5")
    with refused(connection, "23514"):
        connection.execute(
            f"INSERT INTO payroll.{column} (organization_id, address, created_at{more[0]})"
            f" VALUES (%s, %s, now(){more[1]})",
            (organization.organization_id, muxed("x")),
        )


@pytest.mark.parametrize(
    "amount",
    ["0.0000001", "0.1", "1", "1.0000000", "12.5", "922337203685.4775807", "1e3"],
)
def test_an_amount_with_up_to_seven_decimals_is_kept_as_it_is(connection: Connection, amount: str) -> None:
    assert one(connection, "SELECT %s::payroll.asset_amount", amount) == Decimal(amount)


@pytest.mark.parametrize(
    "amount",
    [
        "0",
        "0.0000000",
        "-1",
        "-0.0000001",
        "0.00000001",
        "1.00000001",
        "1.00000000",
        "922337203685.4775808",
        "922337203686",
        "1e30",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e-7000",
    ],
)
def test_any_other_amount_is_refused_and_never_rounded(connection: Connection, amount: str) -> None:
    with refused(connection, "23514"):
        connection.execute("SELECT %s::numeric::payroll.asset_amount", (amount,))


def test_no_column_of_the_schema_holds_a_float_and_every_amount_is_of_the_domain(
    connection: Connection,
) -> None:
    found = connection.execute(
        "SELECT table_name, column_name, coalesce(domain_name, data_type) FROM information_schema.columns"
        " WHERE table_schema = 'payroll' AND (data_type IN ('real', 'double precision', 'money')"
        " OR data_type = 'numeric' OR column_name LIKE '%amount%')"
        " AND table_name <> 'payroll_import_row'"  # texts as the file has them, before they are checked
        " AND table_name IN (SELECT table_name FROM information_schema.tables WHERE table_schema = 'payroll'"
        " AND table_type = 'BASE TABLE')"
    ).fetchall()
    assert found
    assert {row[2] for row in found} == {"asset_amount"}, found


MEMOS = [
    ("none", None, True),
    ("none", "", False),
    ("none", "x", False),
    ("text", None, False),
    ("text", "", False),
    ("text", "x" * 28, True),
    ("text", "x" * 29, False),
    ("text", "é" * 14, True),  # 28 bytes, 14 characters
    ("text", "é" * 15, False),  # 30 bytes, 15 characters
    ("text", "🎉" * 7, True),
    ("text", "🎉" * 8, False),
    ("id", None, False),
    ("id", "", False),
    ("id", "0", True),
    ("id", "18446744073709551615", True),
    ("id", "18446744073709551616", False),
    ("id", "99999999999999999999", False),
    ("id", "007", False),
    ("id", "-1", False),
    ("id", "+1", False),
    ("id", " 1", False),
    ("id", "1.0", False),
    ("id", "１２", False),  # digits of another script
    ("id", "1" * 200, False),
    ("hash", "a" * 64, True),
    ("hash", "A" * 64, False),
    ("hash", "a" * 63, False),
    ("hash", "a" * 65, False),
    ("hash", "g" * 64, False),
    ("hash", None, False),
    ("return", "0" * 64, True),
    ("return", "0" * 64 + "\n", False),
    ("return", "", False),
    (None, None, None),
]


@pytest.mark.parametrize(("kind", "value", "valid"), MEMOS)
def test_a_memo_is_checked_by_its_kind_and_text_by_bytes(
    connection: Connection, kind: str | None, value: str | None, valid: bool | None
) -> None:
    answer = one(connection, "SELECT payroll.is_memo(%s::payroll.memo_kind, %s)", kind, value)
    assert answer is valid or (kind is None and not answer)


def test_a_payee_with_a_bad_memo_is_refused(connection: Connection) -> None:
    organization = new_organization(connection)
    with refused(connection, "23514", words="payee_memo_is_valid"):
        new_payee(connection, organization, memo=("text", "x" * 29))
    new_payee(connection, organization, memo=("text", "x" * 28))


def test_a_muxed_payee_has_no_memo_of_its_own(connection: Connection) -> None:
    organization = new_organization(connection)
    with refused(connection, "23514", words="payee_muxed_has_no_memo"):
        new_payee(connection, organization, destination=muxed("x"), memo=("id", "7"))
    new_payee(connection, organization, destination=muxed("x"))


def test_two_payees_with_references_that_differ_in_case_only_are_refused(connection: Connection) -> None:
    organization, other = new_organization(connection), new_organization(connection)
    new_payee(connection, organization, "E-17a")
    with refused(connection, "23505"):
        new_payee(connection, organization, "e-17A")
    new_payee(connection, other, "e-17A")


@pytest.mark.parametrize("reference", [" E-17", "E-17 ", "", " ", "x" * 101])
def test_a_reference_that_is_not_trimmed_or_too_long_is_refused(
    connection: Connection, reference: str
) -> None:
    organization = new_organization(connection)
    with refused(connection, "23514"):
        connection.execute(
            "INSERT INTO payroll.payee (organization_id, reference, name, destination, created_at,"
            " changed_at)"
            " VALUES (%s, %s, 'A', %s, now(), now())",
            (organization.organization_id, reference, account("a")),
        )

"""The ledger's state: four tables, an undo log, and a look back.

Entries are copied before they change (copy on write). The log of old entries serves twice: to roll back a
failed operation or transaction, and, compressed per ledger, to show the state as it was some ledgers ago,
which is what a lookup node sees that lags behind.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from sandbox.assets import Credit
from sandbox.entries import Account, ClaimableBalance, DataEntry, Trustline

ACCOUNTS, LINES, DATA, BALANCES = range(4)
KEPT_LEDGERS = 64

Entry = Account | Trustline | DataEntry | ClaimableBalance


@dataclass(slots=True)
class Header:
    """The header of a ledger. Times are Unix seconds, fees and coins stroops."""

    sequence: int
    close_time: int
    hash: bytes
    previous_hash: bytes
    total_coins: int
    fee_pool: int
    base_fee: int
    base_reserve: int
    max_operations: int
    protocol: int
    xdr: bytes = b""


class LedgerState:
    """The entries as of the ledger that is being applied (or closed last)."""

    def __init__(self, base_reserve: int) -> None:
        self.base_reserve = base_reserve
        self.sequence = 1
        self.close_time = 0
        self.fee_pool = 0
        self.tables: tuple[dict[Any, Any], ...] = ({}, {}, {}, {})
        self.line_assets: dict[bytes, dict[Credit, None]] = {}
        self.data_names: dict[bytes, dict[bytes, None]] = {}
        self._journal: list[tuple[int, Any, Any]] = []
        self._touched: set[tuple[int, Any]] = set()
        self._past: deque[tuple[int, dict[tuple[int, Any], Any]]] = deque(maxlen=KEPT_LEDGERS)

    # reading

    def account(self, key: bytes) -> Account | None:
        """The account, to read."""
        return self.tables[ACCOUNTS].get(key)

    def line(self, key: bytes, asset: Credit) -> Trustline | None:
        """The trustline, to read."""
        return self.tables[LINES].get((key, asset))

    def data(self, key: bytes, name: bytes) -> DataEntry | None:
        """The data entry, to read."""
        return self.tables[DATA].get((key, name))

    def balance(self, balance_id: bytes) -> ClaimableBalance | None:
        """The claimable balance, to read."""
        return self.tables[BALANCES].get(balance_id)

    # changing

    def _remember(self, table: int, key: Any) -> bool:
        mark = (table, key)
        if mark in self._touched:
            return False
        self._touched.add(mark)
        self._journal.append((table, key, self.tables[table].get(key)))
        return True

    def _edit(self, table: int, key: Any) -> Any:
        entries = self.tables[table]
        entry = entries[key]
        if self._remember(table, key):
            entry = entry.copy()
            entries[key] = entry
        entry.modified = self.sequence
        entry.modified_time = self.close_time
        return entry

    def _put(self, table: int, key: Any, entry: Entry) -> None:
        self._remember(table, key)
        entry.modified = self.sequence
        entry.modified_time = self.close_time
        self.tables[table][key] = entry

    def _remove(self, table: int, key: Any) -> None:
        self._remember(table, key)
        del self.tables[table][key]

    def edit_account(self, key: bytes) -> Account:
        """The account, to change. KeyError if there is none."""
        return cast(Account, self._edit(ACCOUNTS, key))

    def put_account(self, account: Account) -> None:
        """Adds an account."""
        self._put(ACCOUNTS, account.key, account)

    def remove_account(self, key: bytes) -> None:
        """Removes an account."""
        self._remove(ACCOUNTS, key)

    def edit_line(self, key: bytes, asset: Credit) -> Trustline:
        """The trustline, to change. KeyError if there is none."""
        return cast(Trustline, self._edit(LINES, (key, asset)))

    def put_line(self, key: bytes, asset: Credit, line: Trustline) -> None:
        """Adds a trustline."""
        self.line_assets.setdefault(key, {})[asset] = None
        self._put(LINES, (key, asset), line)

    def remove_line(self, key: bytes, asset: Credit) -> None:
        """Removes a trustline."""
        self._remove(LINES, (key, asset))

    def edit_data(self, key: bytes, name: bytes) -> DataEntry:
        """The data entry, to change. KeyError if there is none."""
        return cast(DataEntry, self._edit(DATA, (key, name)))

    def put_data(self, key: bytes, name: bytes, entry: DataEntry) -> None:
        """Adds a data entry."""
        self.data_names.setdefault(key, {})[name] = None
        self._put(DATA, (key, name), entry)

    def remove_data(self, key: bytes, name: bytes) -> None:
        """Removes a data entry."""
        self._remove(DATA, (key, name))

    def edit_balance(self, balance_id: bytes) -> ClaimableBalance:
        """The claimable balance, to change. KeyError if there is none."""
        return cast(ClaimableBalance, self._edit(BALANCES, balance_id))

    def put_balance(self, balance_id: bytes, balance: ClaimableBalance) -> None:
        """Adds a claimable balance."""
        self._put(BALANCES, balance_id, balance)

    def remove_balance(self, balance_id: bytes) -> None:
        """Removes a claimable balance."""
        self._remove(BALANCES, balance_id)

    # undoing and looking back

    def mark(self) -> int:
        """A point to roll back to."""
        self._touched.clear()
        return len(self._journal)

    def roll_back(self, mark: int) -> None:
        """Undoes every change since the mark."""
        self._touched.clear()
        while len(self._journal) > mark:
            table, key, old = self._journal.pop()
            if old is None:
                self.tables[table].pop(key, None)
            else:
                self.tables[table][key] = old

    def seal(self) -> None:
        """Ends the ledger: what it changed can no longer be undone, but be looked behind."""
        before: dict[tuple[int, Any], Any] = {}
        for table, key, old in self._journal:
            before.setdefault((table, key), old)
        self._past.append((self.sequence, before))
        self._journal.clear()
        self._touched.clear()

    def seen_at(self, sequence: int) -> "LedgerView":
        """The state as of a closed ledger, at most KEPT_LEDGERS back."""
        return LedgerView(self, [before for at, before in self._past if at > sequence])


class LedgerView:
    """Reads the state as it was: for each entry the oldest value that a later ledger replaced."""

    def __init__(self, state: LedgerState, later: list[dict[tuple[int, Any], Any]]) -> None:
        self._state = state
        self._later = later

    def _get(self, table: int, key: Any) -> Any:
        for before in self._later:
            if (table, key) in before:
                return before[(table, key)]
        return self._state.tables[table].get(key)

    def account(self, key: bytes) -> Account | None:
        """The account as it was."""
        return cast(Account | None, self._get(ACCOUNTS, key))

    def lines(self, key: bytes) -> Iterator[tuple[Credit, Trustline]]:
        """The account's trustlines as they were."""
        for asset in self._state.line_assets.get(key, ()):
            line = self._get(LINES, (key, asset))
            if line is not None:
                yield asset, line

    def line(self, key: bytes, asset: Credit) -> Trustline | None:
        """The trustline as it was."""
        return cast(Trustline | None, self._get(LINES, (key, asset)))

    def data_entry(self, key: bytes, name: bytes) -> DataEntry | None:
        """The data entry as it was."""
        return cast(DataEntry | None, self._get(DATA, (key, name)))

    def data(self, key: bytes) -> Iterator[tuple[bytes, DataEntry]]:
        """The account's data entries as they were."""
        for name in self._state.data_names.get(key, ()):
            entry = self._get(DATA, (key, name))
            if entry is not None:
                yield name, entry

    def balance(self, balance_id: bytes) -> ClaimableBalance | None:
        """The claimable balance as it was."""
        return cast(ClaimableBalance | None, self._get(BALANCES, balance_id))

    def _keys(self, table: int) -> dict[Any, None]:
        keys = dict.fromkeys(self._state.tables[table])
        for before in self._later:
            keys.update(dict.fromkeys(key for at, key in before if at == table))
        return keys

    def accounts(self) -> Iterator[Account]:
        """Every account as it was."""
        return (entry for key in self._keys(ACCOUNTS) if (entry := self._get(ACCOUNTS, key)) is not None)

    def balances(self) -> Iterator[tuple[bytes, ClaimableBalance]]:
        """Every claimable balance as it was, with its id."""
        return (
            (key, entry) for key in self._keys(BALANCES) if (entry := self._get(BALANCES, key)) is not None
        )

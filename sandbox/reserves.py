"""Reserves: what an account must keep, and who keeps it for whom (sponsorship, CAP-33)."""

from sandbox.entries import Account
from sandbox.ledger import LedgerState
from sandbox.operations.base import Context, OperationFailed
from sandbox.results import OP_TOO_MANY_SPONSORING, OP_TOO_MANY_SUBENTRIES

SUBENTRY_LIMIT = 1000
_MAX_COUNT = (1 << 32) - 1


def minimum_balance(account: Account, base_reserve: int) -> int:
    """The stroops that an account must keep."""
    return (2 + account.subentries + account.sponsoring - account.sponsored) * base_reserve


def available_balance(account: Account, base_reserve: int) -> int:
    """The stroops that an account may spend; negative if it is below its reserve."""
    return account.balance - minimum_balance(account, base_reserve)


def _charge_sponsor(state: LedgerState, sponsor: bytes, count: int, low_reserve: int) -> None:
    account = state.edit_account(sponsor)
    if available_balance(account, state.base_reserve) < count * state.base_reserve:
        raise OperationFailed(low_reserve)
    if account.sponsoring + count > _MAX_COUNT:
        raise OperationFailed(outer=OP_TOO_MANY_SPONSORING)
    account.sponsoring += count


def add_account(context: Context, account: Account, low_reserve: int) -> None:
    """Adds a new account, its reserve paid by whoever sponsors it now, else by its own balance."""
    state = context.state
    sponsor = context.sponsorships.get(account.key)
    if sponsor is not None:
        _charge_sponsor(state, sponsor, 2, low_reserve)
        account.sponsored = 2
        account.sponsor = sponsor
    elif account.balance < 2 * state.base_reserve:
        raise OperationFailed(low_reserve)
    state.put_account(account)


def add_subentry(context: Context, owner: bytes, low_reserve: int) -> bytes | None:
    """Makes room for one more subentry of an account; its sponsor, if it has one now."""
    state = context.state
    account = state.edit_account(owner)
    if account.subentries + 1 > SUBENTRY_LIMIT:
        raise OperationFailed(outer=OP_TOO_MANY_SUBENTRIES)
    sponsor = context.sponsorships.get(owner)
    if sponsor is not None:
        _charge_sponsor(state, sponsor, 1, low_reserve)
        account.sponsored += 1
    elif available_balance(account, state.base_reserve) < state.base_reserve:
        raise OperationFailed(low_reserve)
    account.subentries += 1
    return sponsor


def remove_subentry(state: LedgerState, owner: bytes, sponsor: bytes | None) -> None:
    """Gives the room and the reserve of a subentry back."""
    account = state.edit_account(owner)
    account.subentries -= 1
    if sponsor is not None:
        account.sponsored -= 1
        state.edit_account(sponsor).sponsoring -= 1


def sponsor_balance(context: Context, owner: bytes, count: int, low_reserve: int) -> bytes:
    """Charges the reserves of a claimable balance: to whoever sponsors its creator now, else to the
    creator."""
    sponsor = context.sponsorships.get(owner, owner)
    _charge_sponsor(context.state, sponsor, count, low_reserve)
    return sponsor


def release_sponsor(state: LedgerState, sponsor: bytes | None, count: int) -> None:
    """Gives a sponsor its reserves back."""
    if sponsor is not None and state.account(sponsor) is not None:
        state.edit_account(sponsor).sponsoring -= count

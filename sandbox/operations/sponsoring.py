"""begin and end of sponsoring future reserves, and revoke_sponsorship (CAP-33)."""

from dataclasses import dataclass
from typing import Any

from sandbox import assets
from sandbox.assets import Credit
from sandbox.entries import Account, ClaimableBalance, DataEntry, Signer, SignerKey, Trustline
from sandbox.operations.base import Context, Operation, OperationFailed
from sandbox.operations.claimable import balance_id_text
from sandbox.operations.settings import signer_address
from sandbox.reserves import available_balance
from sandbox.strkeys import Party, account_address


@dataclass(frozen=True, slots=True)
class BeginSponsoringFutureReserves(Operation):
    """From here on the source pays the reserves of what the other account adds, until that one ends it."""

    KIND = 16
    NAME = "begin_sponsoring_future_reserves"
    MALFORMED, ALREADY_SPONSORED, RECURSIVE = -1, -2, -3

    sponsored: bytes

    def check(self, source: bytes) -> int:
        return self.MALFORMED if self.sponsored == source else 0

    def apply(self, context: Context) -> bytes:
        source = context.source.account
        if self.sponsored in context.sponsorships:
            raise OperationFailed(self.ALREADY_SPONSORED)
        if source in context.sponsorships or self.sponsored in context.sponsorships.values():
            raise OperationFailed(self.RECURSIVE)
        context.sponsorships[self.sponsored] = source
        return b""

    def parties(self) -> tuple[bytes, ...]:
        return (self.sponsored,)

    def details(self, source: Party) -> dict[str, Any]:
        return {"sponsored_id": account_address(self.sponsored)}


@dataclass(frozen=True, slots=True)
class EndSponsoringFutureReserves(Operation):
    """The sponsored account ends what begin_sponsoring_future_reserves began."""

    KIND = 17
    NAME = "end_sponsoring_future_reserves"
    NOT_SPONSORED = -1

    def apply(self, context: Context) -> bytes:
        if context.sponsorships.pop(context.source.account, None) is None:
            raise OperationFailed(self.NOT_SPONSORED)
        return b""

    def details(self, source: Party) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, slots=True)
class Sponsored:
    """What a revocation is about: one of an account, a trustline, a data entry, a claimable balance or a
    signer."""

    account: bytes | None = None
    line: Credit | None = None
    data: bytes | None = None
    balance_id: bytes | None = None
    signer: SignerKey | None = None


@dataclass(frozen=True, slots=True)
class RevokeSponsorship(Operation):
    """Ends or hands over the sponsorship of something that exists."""

    KIND = 18
    NAME = "revoke_sponsorship"
    DOES_NOT_EXIST, NOT_SPONSOR, LOW_RESERVE, ONLY_TRANSFERABLE, MALFORMED = -1, -2, -3, -4, -5

    subject: Sponsored

    def apply(self, context: Context) -> bytes:
        sponsor, count, owner = self._present(context)
        source = context.source.account
        if sponsor is not None and sponsor != source:
            raise OperationFailed(self.NOT_SPONSOR)
        if sponsor is None and owner != source:
            raise OperationFailed(self.NOT_SPONSOR)
        heir = context.sponsorships.get(source)
        if heir == owner:
            heir = None
        if self.subject.balance_id is not None:
            if heir is None:
                raise OperationFailed(self.ONLY_TRANSFERABLE)
            owner = None
        self._transfer(context, sponsor, heir, count, owner)
        self._write(context, heir)
        return b""

    def _present(self, context: Context) -> tuple[bytes | None, int, bytes | None]:
        """Sponsor, number of reserves and owner of the subject."""
        state, subject = context.state, self.subject
        entry: Account | Trustline | DataEntry | ClaimableBalance | Signer | None
        count = 1
        if subject.balance_id is not None:
            entry = balance = state.balance(subject.balance_id)
            count = len(balance.claimants) if balance else 0
        else:
            assert subject.account is not None
            entry = account = state.account(subject.account)
            if subject.line is not None:
                entry = state.line(subject.account, subject.line)
            elif subject.data is not None:
                entry = state.data(subject.account, subject.data)
            elif subject.signer is not None:
                signers = account.signers if account else ()
                entry = next((each for each in signers if each.key == subject.signer), None)
            else:
                count = 2
        if entry is None:
            raise OperationFailed(self.DOES_NOT_EXIST)
        owner = entry.sponsor if subject.balance_id is not None else subject.account
        return entry.sponsor, count, owner

    def _transfer(
        self, context: Context, sponsor: bytes | None, heir: bytes | None, count: int, owner: bytes | None
    ) -> None:
        state = context.state
        if sponsor is not None:
            state.edit_account(sponsor).sponsoring -= count
            if owner is not None:
                state.edit_account(owner).sponsored -= count
        if heir is not None:
            payer = state.edit_account(heir)
            if available_balance(payer, state.base_reserve) < count * state.base_reserve:
                raise OperationFailed(self.LOW_RESERVE)
            payer.sponsoring += count
            if owner is not None:
                state.edit_account(owner).sponsored += count
        elif owner is not None and available_balance(state.edit_account(owner), state.base_reserve) < 0:
            raise OperationFailed(self.LOW_RESERVE)

    def _write(self, context: Context, heir: bytes | None) -> None:
        state, subject = context.state, self.subject
        if subject.balance_id is not None:
            state.edit_balance(subject.balance_id).sponsor = heir
            return
        assert subject.account is not None
        if subject.line is not None:
            state.edit_line(subject.account, subject.line).sponsor = heir
        elif subject.data is not None:
            state.edit_data(subject.account, subject.data).sponsor = heir
        elif subject.signer is not None:
            account = state.edit_account(subject.account)
            account.signers = tuple(
                each._replace(sponsor=heir) if each.key == subject.signer else each
                for each in account.signers
            )
        else:
            state.edit_account(subject.account).sponsor = heir

    def details(self, source: Party) -> dict[str, Any]:
        subject = self.subject
        if subject.balance_id is not None:
            return {"claimable_balance_id": balance_id_text(subject.balance_id)}
        assert subject.account is not None
        address = account_address(subject.account)
        if subject.line is not None:
            return {"trustline_account_id": address, "trustline_asset": assets.canonical(subject.line)}
        if subject.data is not None:
            return {"data_account_id": address, "data_name": subject.data.decode("ascii", "replace")}
        if subject.signer is not None:
            return {"signer_account_id": address, "signer_key": signer_address(subject.signer)}
        return {"account_id": address}

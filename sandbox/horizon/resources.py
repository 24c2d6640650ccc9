"""Horizon's resources: accounts, ledgers, claimable balances, the root and fee statistics."""

import base64
from collections import Counter
from typing import Any

from sandbox import assets
from sandbox.amounts import to_text
from sandbox.assets import Credit
from sandbox.clock import rfc3339
from sandbox.entries import Account, ClaimableBalance, Signer, SignerKey, Trustline
from sandbox.history import LedgerRecord
from sandbox.ledger import LedgerView
from sandbox.network import Network
from sandbox.operations.claimable import balance_id_text, predicate_json
from sandbox.operations.settings import signer_address
from sandbox.strkeys import account_address

_SIGNER_KINDS = ("ed25519_public_key", "preauth_tx", "sha256_hash", "ed25519_signed_payload")


def _paged(href: str) -> dict[str, Any]:
    return {"href": href + "{?cursor,limit,order}", "templated": True}


def _sponsor(key: bytes | None) -> dict[str, str]:
    return {} if key is None else {"sponsor": account_address(key)}


def _line(asset: Credit, line: Trustline) -> dict[str, Any]:
    return {
        "balance": to_text(line.balance),
        "limit": to_text(line.limit),
        "buying_liabilities": "0.0000000",
        "selling_liabilities": "0.0000000",
        **_sponsor(line.sponsor),
        "last_modified_ledger": line.modified,
        "is_authorized": line.authorized,
        "is_authorized_to_maintain_liabilities": bool(line.flags & 3),
        "is_clawback_enabled": bool(line.flags & 4),
        **assets.fields(asset),
    }


def _signer(signer: Signer) -> dict[str, Any]:
    address = signer_address(signer.key)
    return {
        "weight": signer.weight,
        "key": address,
        "type": _SIGNER_KINDS[signer.key.kind],
        **_sponsor(signer.sponsor),
    }


def account_resource(base: str, account: Account, view: LedgerView) -> dict[str, Any]:
    """GET /accounts/{id}."""
    address = account_address(account.key)
    href = f"{base}/accounts/{address}"
    lines = [_line(asset, line) for asset, line in view.lines(account.key)]
    native = {
        "balance": to_text(account.balance),
        "buying_liabilities": "0.0000000",
        "selling_liabilities": "0.0000000",
        "asset_type": "native",
    }
    resource: dict[str, Any] = {
        "_links": {
            "self": {"href": href},
            **{
                name: _paged(f"{href}/{name}")
                for name in ("transactions", "operations", "payments", "effects", "offers", "trades")
            },
            "data": {"href": href + "/data/{key}", "templated": True},
        },
        "id": address,
        "account_id": address,
        "sequence": str(account.sequence),
    }
    if account.sequence_ledger:
        resource["sequence_ledger"] = account.sequence_ledger
        resource["sequence_time"] = str(account.sequence_time)
    resource["subentry_count"] = account.subentries
    if account.inflation_destination is not None:
        resource["inflation_destination"] = account_address(account.inflation_destination)
    if account.home_domain:
        resource["home_domain"] = account.home_domain.decode("ascii", "replace")
    master, low, medium, high = account.thresholds
    signers = [_signer(signer) for signer in account.signers]
    signers.append(_signer(Signer(SignerKey(0, account.key), master)))
    return {
        **resource,
        "last_modified_ledger": account.modified,
        "last_modified_time": rfc3339(account.modified_time),
        "thresholds": {"low_threshold": low, "med_threshold": medium, "high_threshold": high},
        "flags": {
            "auth_required": bool(account.flags & 1),
            "auth_revocable": bool(account.flags & 2),
            "auth_immutable": bool(account.flags & 4),
            "auth_clawback_enabled": bool(account.flags & 8),
        },
        "balances": [*lines, native],
        "signers": signers,
        "data": {
            name.decode("ascii", "replace"): base64.b64encode(entry.value).decode()
            for name, entry in view.data(account.key)
        },
        "num_sponsoring": account.sponsoring,
        "num_sponsored": account.sponsored,
        **_sponsor(account.sponsor),
        "paging_token": address,
    }


def ledger_resource(base: str, record: LedgerRecord) -> dict[str, Any]:
    """GET /ledgers/{sequence}."""
    header = record.header
    href = f"{base}/ledgers/{header.sequence}"
    good = sum(each.successful for each in record.transactions)
    return {
        "_links": {
            "self": {"href": href},
            **{
                name: _paged(f"{href}/{name}")
                for name in ("transactions", "operations", "payments", "effects")
            },
        },
        "id": header.hash.hex(),
        "paging_token": str(record.place),
        "hash": header.hash.hex(),
        **({"prev_hash": header.previous_hash.hex()} if header.sequence > 1 else {}),
        "sequence": header.sequence,
        "successful_transaction_count": good,
        "failed_transaction_count": len(record.transactions) - good,
        "operation_count": record.operation_count,
        "tx_set_operation_count": record.operation_count + record.failed_operation_count,
        "closed_at": rfc3339(header.close_time),
        "total_coins": to_text(header.total_coins),
        "fee_pool": to_text(header.fee_pool),
        "base_fee_in_stroops": header.base_fee,
        "base_reserve_in_stroops": header.base_reserve,
        "max_tx_set_size": header.max_operations,
        "protocol_version": header.protocol,
        "header_xdr": base64.b64encode(header.xdr).decode(),
    }


def balance_resource(base: str, balance_id: bytes, balance: ClaimableBalance) -> dict[str, Any]:
    """GET /claimable_balances/{id}."""
    text = balance_id_text(balance_id)
    href = f"{base}/claimable_balances/{text}"
    asset = None if balance.asset is None else Credit(*balance.asset)
    return {
        "_links": {
            "self": {"href": href},
            "transactions": _paged(f"{href}/transactions"),
            "operations": _paged(f"{href}/operations"),
        },
        "id": text,
        "asset": assets.canonical(asset),
        "amount": to_text(balance.amount),
        **_sponsor(balance.sponsor),
        "last_modified_ledger": balance.modified,
        "last_modified_time": rfc3339(balance.modified_time),
        "claimants": [
            {"destination": account_address(each.account), "predicate": predicate_json(each.predicate)}
            for each in balance.claimants
        ],
        "flags": {"clawback_enabled": bool(balance.flags & 1)},
        "paging_token": f"{balance.modified}-{text}",
    }


def root_resource(base: str, network: Network) -> dict[str, Any]:
    """GET /."""
    ingested = network.history.ledgers[network.ingested - 1].header
    plain = {"self": "/", "account": "/accounts/{account_id}", "transaction": "/transactions/{hash}"}
    links: dict[str, Any] = {
        name: {"href": base + path, **({"templated": True} if "{" in path else {})}
        for name, path in plain.items()
    }
    links["fee_stats"] = {"href": base + "/fee_stats"}
    links["friendbot"] = {"href": base + "/friendbot{?addr}", "templated": True}
    for name in ("ledgers", "transactions", "operations", "payments"):
        links[name] = _paged(f"{base}/{name}")
    for name in ("transactions", "payments", "operations"):
        links[f"account_{name}"] = _paged(base + "/accounts/{account_id}/" + name)
    return {
        "_links": links,
        "horizon_version": "23.0.0-sandbox",
        "core_version": "stellar-core 23.0.0 (sandbox)",
        "ingest_latest_ledger": network.ingested,
        "history_latest_ledger": network.ingested,
        "history_latest_ledger_closed_at": rfc3339(ingested.close_time),
        "history_elder_ledger": network.elder,
        "core_latest_ledger": network.latest.sequence,
        "network_passphrase": network.parameters.passphrase,
        "current_protocol_version": network.parameters.protocol,
        "supported_protocol_version": network.parameters.protocol,
        "core_supported_protocol_version": network.parameters.protocol,
    }


def fee_percentiles(values: list[int], floor: int) -> dict[str, str]:
    """max, min, mode and percentiles as strings; all `floor` if there are no values."""
    ordered = sorted(values) or [floor]
    counted = Counter(ordered)
    most = max(counted.values())
    figures = {
        "max": ordered[-1],
        "min": ordered[0],
        "mode": min(each for each in ordered if counted[each] == most),
    }
    for percent in (10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99):
        figures[f"p{percent}"] = ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
    return {name: str(value) for name, value in figures.items()}


def fee_stats_resource(network: Network) -> dict[str, Any]:
    """GET /fee_stats: all strings."""
    charged, bids, usage = network.fee_statistics()
    floor = network.parameters.base_fee
    return {
        "last_ledger": str(network.ingested),
        "last_ledger_base_fee": str(floor),
        "ledger_capacity_usage": f"{usage:.2f}".rstrip("0").rstrip(".") or "0",
        "fee_charged": fee_percentiles(charged, floor),
        "max_fee": fee_percentiles(bids, floor),
    }

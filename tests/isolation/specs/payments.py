"""Claiming, signing, settling, rescuing and cancelling payments, against each other."""

from collections.abc import Iterator

from tests.isolation.calls import (
    cancel_run,
    cancel_schedule,
    claim_due,
    claim_payments,
    hold,
    quarantine,
    record,
    record_own,
    refuse_first,
    release,
    rescue,
    retire,
    settle,
    settle_own,
)
from tests.isolation.expectations import never_refused, one_of_two, refused_after
from tests.isolation.spec import Call, Expectation, Session, Spec

OPERATOR = "payroll_operator"
PODS = "SELECT stage.pod('pod_1'), stage.pod('pod_2');"


def _run(channels: int, plain_lines: int, memo_lines: int) -> str:
    """One open run of acme. Lines with a memo of their own each need a batch of their own."""
    return (
        f"{PODS} SELECT stage.company('acme', 1, {channels}), stage.schedule('acme', 'weekly', 1, {plain_lines}, {memo_lines});"
        " SELECT stage.open_runs();"
    )


ONE_BATCH_ONE_CHANNEL = _run(1, 2, 0)
TWO_BATCHES_ONE_CHANNEL = _run(1, 2, 1)
ONE_BATCH_TWO_CHANNELS = _run(2, 2, 0)
TWO_BATCHES_TWO_CHANNELS = _run(2, 2, 1)
TWO_RUNS_ONE_CHANNEL = (
    f"{PODS} SELECT stage.company('acme', 1, 1), stage.schedule('acme', 'weekly', 1, 1, 0), stage.schedule('acme', 'bonus', 1, 2, 0);"
    " SELECT stage.open_runs();"
)
TWO_ORGANIZATIONS = (
    f"{PODS} SELECT stage.company('acme', 1, 1), stage.schedule('acme', 'weekly', 1, 1, 0), stage.company('bolt', 2, 1),"
    " stage.schedule('bolt', 'bonus', 1, 2, 0); SELECT stage.open_runs();"
)
CLAIMED = ONE_BATCH_ONE_CHANNEL + " SELECT stage.claim('b', 'pod_1');"
CLAIMED_MORE_TO_COME = TWO_BATCHES_ONE_CHANNEL + " SELECT stage.claim('b', 'pod_1');"
SIGNED = CLAIMED + " SELECT stage.record('b', 'e1');"
SIGNED_TWICE = SIGNED + " SELECT stage.record('b', 'e2');"
SIGNED_MORE_TO_COME = CLAIMED_MORE_TO_COME + " SELECT stage.record('b', 'e1');"
TWO_SIGNED = (
    _run(2, 1, 1) + " SELECT stage.claim('b', 'pod_1'), stage.claim('c', 'pod_1'); SELECT stage.record('b', 'e1'), stage.record('c', 'f1');"
)
ONE_FAILED_LINE = "ARRAY['op_no_trust', 'op_success']"


def _dead(pod: str) -> str:
    return f" UPDATE payroll.pod SET heartbeat_at = heartbeat_at - interval '1 hour' WHERE pod = '{pod}';"


def _two(first: Call, second: Call, second_role: str = "payroll_pod") -> tuple[Session, ...]:
    name = "operator" if second_role == OPERATOR else "pod_2"
    return Session("pod_1", (first,)), Session(name, (second,), second_role)


def _claims(count: int, *stops: str) -> tuple[Session, ...]:
    return tuple(Session(f"pod_{n}", (claim_payments(f"pod_{n}", *stops),)) for n in range(1, count + 1))


def payments_specs() -> Iterator[Spec]:
    yield from _claim_payments_specs()
    yield from _record_specs()
    yield from _settle_specs()
    yield from _cancel_specs()


def _claim_payments_specs() -> Iterator[Spec]:
    scenarios = (
        ("one run, one channel", ONE_BATCH_ONE_CHANNEL),
        ("one run of two batches, one channel", TWO_BATCHES_ONE_CHANNEL),
        ("one run, two channels", ONE_BATCH_TWO_CHANNELS),
        ("one run of two batches, two channels", TWO_BATCHES_TWO_CHANNELS),
        ("two runs, one channel", TWO_RUNS_ONE_CHANNEL),
        ("two organizations", TWO_ORGANIZATIONS),
    )
    for name, scenario in scenarios:
        yield Spec(f"claim x claim, {name}", scenario, _claims(2, "chosen", "run_locked"), (never_refused,))
    for name, scenario in scenarios[2:5]:
        yield Spec(f"claim x claim, {name}, with the channel locked", scenario, _claims(2, "channel_locked"), (never_refused,))
    for name, scenario in scenarios[:5]:
        yield Spec(f"claim x claim, {name}, repeatable read", scenario, _claims(2), (), "REPEATABLE READ")
    three = (*_claims(2), Session("pod_3", (claim_payments("pod_2"),)))
    yield Spec("claim x claim x claim", TWO_BATCHES_TWO_CHANNELS, three, (never_refused,))
    whole = tuple(
        Session(f"pod_{n}", (claim_payments(f"pod_{n}"), record_own(f"e{n}"), settle_own(f"e{n}", 10 + n)))
        for n in (1, 2)
    )
    committed = tuple(
        Session(s.name, tuple(Call(c.name, c.sql, c.refusals, endings=("commit",)) for c in s.calls)) for s in whole
    )
    yield Spec("claim, sign, settle x claim, sign, settle", TWO_BATCHES_ONE_CHANNEL, committed, (never_refused,))
    yield Spec("claim, sign, settle x the same, two channels", TWO_BATCHES_TWO_CHANNELS, committed, (never_refused,))
    yield Spec(
        "claim_due x claim_payments",
        f"{PODS} SELECT stage.company('acme', 1, 1), stage.schedule('acme', 'weekly', 1, 2, 0);",
        _two(claim_due("pod_1", "counted"), claim_payments("pod_2")),
    )


def _record_specs() -> Iterator[Spec]:
    late: tuple[Expectation, ...] = (refused_after("pod_2", "pod_1", "PL004"),)
    abandoned = CLAIMED + _dead("pod_1")
    signed_abandoned = SIGNED + _dead("pod_1")
    yield Spec("record x rescue, claimed", abandoned, _two(record("b", "e1", "checked"), rescue("pod_2", "found", "checked")))
    yield Spec("record x rescue, signed", signed_abandoned, _two(record("b", "e2", "checked"), rescue("pod_2", "found", "read")), late)
    yield Spec("record x rescue x rescue", abandoned, (*_two(record("b", "e1"), rescue("pod_2")), Session("pod_3", (rescue("pod_2"),))))
    yield Spec("rescue x rescue", signed_abandoned + " SELECT stage.pod('pod_3');", (
        Session("pod_2", (rescue("pod_2", "found", "read"),)), Session("pod_3", (rescue("pod_3", "found", "read"),))), (never_refused,))
    yield Spec("rescue, claim x record", CLAIMED_MORE_TO_COME + _dead("pod_1"), (
        Session("pod_2", (rescue("pod_2"), claim_payments("pod_2"), record_own("e2"))), Session("pod_1", (record("b", "e1"),))))
    yield Spec("record x release", CLAIMED, _two(record("b", "e1", "checked"), release("b", "read", "checked")))
    yield Spec("record x record, the same", CLAIMED, _two(record("b", "e1", "checked"), record("b", "e1", "checked")), (never_refused,))
    yield Spec("record x record, another", CLAIMED, _two(record("b", "e1", "checked"), record("b", "e2", "checked")), (never_refused,))
    yield Spec("record x refuse", CLAIMED, _two(record("b", "e1", "checked"), refuse_first("b")))
    yield Spec("record x hold", CLAIMED, _two(record("b", "e1", "checked"), hold("b")))
    yield Spec("release x rescue", abandoned, _two(release("b", "read", "run_locked"), rescue("pod_2", "found")), (never_refused,))
    yield Spec("release x claim", CLAIMED_MORE_TO_COME, _two(release("b", "checked"), claim_payments("pod_2", "chosen")), (never_refused,))
    yield Spec("retire x rescue", SIGNED, _two(retire("pod_1"), rescue("pod_2", "found")), (never_refused,))


def _settle_specs() -> Iterator[Spec]:
    paid = settle("b", "e1", 10, stops="read checked")
    paid_elsewhere = settle("b", "e1", 11, refusals="PL005", stops="checked")
    paid_by_other = settle("b", "e2", 10, refusals="PL005", stops="checked")
    paid_strictly = settle("b", "e1", 10, refusals="PL005", stops="checked")
    failed = settle("b", "e1", 10, "tx_failed", ONE_FAILED_LINE, "PL005", "checked")
    one_wins = (one_of_two("pod_1", "pod_2", "PL005"),)
    yield Spec("settle x settle, the same", SIGNED, _two(paid, paid), (never_refused,))
    yield Spec("settle x settle, paid and failed", SIGNED, _two(paid_strictly, failed), one_wins)
    yield Spec("settle x settle, two ledgers", SIGNED, _two(paid_strictly, paid_elsewhere), one_wins)
    yield Spec("settle x settle, two envelopes", SIGNED_TWICE, _two(paid_strictly, paid_by_other), one_wins)
    yield Spec("settle x settle, two batches of a run", TWO_SIGNED, _two(paid, settle("c", "f1", 12, stops="read checked")), (never_refused,))
    yield Spec("settle x settle, two batches of a run, one failed", TWO_SIGNED, _two(
        paid, settle("c", "f1", 12, "tx_failed", "ARRAY['op_no_trust']", stops="read checked")), (never_refused,))
    yield Spec("settle x settle, both failed, two batches", TWO_SIGNED, _two(
        settle("b", "e1", 10, "tx_failed", "ARRAY['op_underfunded']"), settle("c", "f1", 12, "tx_failed", "ARRAY['op_underfunded']")))
    yield Spec("settle x record", SIGNED, _two(paid, record("b", "e2", "checked")))
    yield Spec("settle x claim", SIGNED_MORE_TO_COME, _two(paid, claim_payments("pod_2", "chosen")), (never_refused,))
    yield Spec("settle failed x claim", SIGNED_MORE_TO_COME, _two(
        settle("b", "e1", 10, "tx_failed", ONE_FAILED_LINE, stops="checked"), claim_payments("pod_2", "chosen", "run_locked")), (never_refused,))
    yield Spec("settle x rescue", SIGNED + _dead("pod_1"), _two(paid, rescue("pod_2", "found", "read")), (never_refused,))
    yield Spec("settle x quarantine", SIGNED, _two(paid, quarantine("b")))
    yield Spec("settle x settle x claim", SIGNED_MORE_TO_COME, (
        Session("pod_1", (settle("b", "e1", 10),)), Session("pod_2", (settle("b", "e1", 10),)), Session("pod_3", (claim_payments("pod_2"),))), (never_refused,))
    for level in ("REPEATABLE READ",):
        yield Spec("settle x settle, paid and failed, repeatable read", SIGNED, _two(
            settle("b", "e1", 10, refusals="PL005"), settle("b", "e1", 10, "tx_failed", ONE_FAILED_LINE, "PL005")), (), level)


def _cancel_specs() -> Iterator[Spec]:
    cancel = cancel_run("acme", "weekly")
    paid = settle("b", "e1", 10, stops="read checked")
    failed = settle("b", "e1", 10, "tx_failed", ONE_FAILED_LINE, stops="checked")
    yield Spec("claim x cancel run", ONE_BATCH_ONE_CHANNEL, _two(claim_payments("pod_1", "chosen", "run_locked"), cancel, OPERATOR))
    yield Spec("record x cancel run", CLAIMED, _two(record("b", "e1", "checked"), cancel, OPERATOR))
    yield Spec("record x cancel run, more to come", CLAIMED_MORE_TO_COME, _two(record("b", "e1", "checked"), cancel, OPERATOR))
    yield Spec("release x cancel run", CLAIMED_MORE_TO_COME, _two(release("b", "read", "checked"), cancel, OPERATOR))
    yield Spec("settle x cancel run", SIGNED, _two(paid, cancel, OPERATOR))
    yield Spec("settle failed x cancel run", SIGNED_MORE_TO_COME, _two(failed, cancel, OPERATOR))
    yield Spec("rescue x cancel run", CLAIMED_MORE_TO_COME + _dead("pod_1"), (
        Session("pod_2", (rescue("pod_2", "found", "read"),)), Session("operator", (cancel,), OPERATOR)), (never_refused,))
    yield Spec("cancel run x cancel run", CLAIMED_MORE_TO_COME, (
        Session("operator", (cancel,), OPERATOR), Session("approver", (cancel,), "payroll_approver")), (never_refused,))
    yield Spec("cancel run x cancel schedule", CLAIMED_MORE_TO_COME, (
        Session("operator", (cancel,), OPERATOR), Session("other", (cancel_schedule("acme", "weekly"),), OPERATOR)), (never_refused,))
    yield Spec("claim, sign x cancel schedule", TWO_BATCHES_ONE_CHANNEL, (
        Session("pod_1", (claim_payments("pod_1"), record_own("e1"), settle_own("e1", 10))),
        Session("operator", (cancel_schedule("acme", "weekly"),), OPERATOR)))

"""The states that specs start from, as SQL over the builders of stage.sql; and who takes part."""

from tests.isolation.spec import Call, Session

OPERATOR = "payroll_operator"
APPROVER = "payroll_approver"
OWNER = "payroll_owner"

_PODS = "SELECT stage.pod('pod_1'), stage.pod('pod_2'), stage.pod('pod_3');"
_OPEN = " SELECT stage.open_runs();"


def _company(name: str, number: int, channels: int) -> str:
    return f" SELECT stage.company('{name}', {number}, {channels});"


def _schedule(company: str, name: str, plain_lines: int, memo_lines: int = 0, missed: int = 1) -> str:
    return f" SELECT stage.schedule('{company}', '{name}', {missed}, {plain_lines}, {memo_lines});"


def _run(channels: int, plain_lines: int, memo_lines: int) -> str:
    """One open run. A line with a memo of its own needs a batch of its own."""
    return (
        _PODS + _company("acme", 1, channels) + _schedule("acme", "weekly", plain_lines, memo_lines) + _OPEN
    )


ONE_DUE = _PODS + _company("acme", 1, 1) + _schedule("acme", "weekly", 2)
TWO_DATES_DUE = _PODS + _company("acme", 1, 1) + _schedule("acme", "weekly", 2, missed=2)
TWO_SCHEDULES_DUE = (
    _PODS
    + _company("acme", 1, 1)
    + _schedule("acme", "monthly", 1)
    + _company("bolt", 2, 1)
    + _schedule("bolt", "weekly", 2)
)
PAUSED = ONE_DUE + " UPDATE payroll.pay_schedule SET state = 'paused';"

ONE_BATCH_ONE_CHANNEL = _run(1, 2, 0)
TWO_BATCHES_ONE_CHANNEL = _run(1, 2, 1)
ONE_BATCH_TWO_CHANNELS = _run(2, 2, 0)
TWO_BATCHES_TWO_CHANNELS = _run(2, 2, 1)
FOUR_BATCHES_TWO_CHANNELS = _run(2, 1, 3)
TWO_RUNS_ONE_CHANNEL = (
    _PODS + _company("acme", 1, 1) + _schedule("acme", "weekly", 1) + _schedule("acme", "bonus", 2) + _OPEN
)
TWO_ORGANIZATIONS = (
    _PODS
    + _company("acme", 1, 1)
    + _schedule("acme", "weekly", 1)
    + _company("bolt", 2, 1)
    + _schedule("bolt", "bonus", 2)
    + _OPEN
)

_CLAIM = " SELECT stage.claim('b', 'pod_1');"
_SIGN = " SELECT stage.record('b', 'e1');"
CLAIMED = ONE_BATCH_ONE_CHANNEL + _CLAIM
CLAIMED_MORE_TO_COME = TWO_BATCHES_ONE_CHANNEL + _CLAIM
SIGNED = CLAIMED + _SIGN
SIGNED_TWICE = SIGNED + " SELECT stage.record('b', 'e2');"
SIGNED_MORE_TO_COME = CLAIMED_MORE_TO_COME + _SIGN
HELD = SIGNED + " SELECT payroll.hold_batch(b.batch_id, b.claim_token, 'a test') FROM stage.batch AS b;"
TWO_SIGNED = (
    _run(2, 1, 1)
    + " SELECT stage.claim('b', 'pod_1'), stage.claim('c', 'pod_1');"
    + " SELECT stage.record('b', 'e1'), stage.record('c', 'f1');"
)
# The pod that claimed has not been heard of for two hours, and an hour is its lease.
DEAD = " UPDATE payroll.pod SET heartbeat_at = heartbeat_at - interval '2 hours' WHERE pod = 'pod_1';"


def pod(number: int, *calls: Call) -> Session:
    return Session(f"pod_{number}", calls)


def operator(*calls: Call) -> Session:
    return Session("operator", calls, OPERATOR)

"""What the pod counts. One registry per pod, served by `notifier.health`."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)

_FAST = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """All metrics of one pod."""

    def observe_database_call(self, function: str, seconds: float) -> None:
        """For `Database`."""
        self.database_call.labels(function).observe(seconds)

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"paylock_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, *labels: str) -> Histogram:
            return Histogram(f"paylock_{name}_seconds", text, labels, buckets=_FAST, registry=registry)

        self.runs_opened = counter("runs_opened", "Pay runs that this pod opened")
        self.batches_claimed = counter("batches_claimed", "Batches claimed")
        self.batches_signed = counter("batches_signed", "Batches whose first envelope was committed")
        self.batches_submitted = counter("batches_submitted", "Batches sent for the first time")
        self.batches_settled = counter(
            "batches_settled", "Batches settled, by what the ledger did", "outcome"
        )
        self.batches_released = counter("batches_released", "Batches given back before an envelope existed")
        self.batches_held = counter("batches_held", "Batches held for a person, as a defect")
        self.batches_quarantined = counter("batches_quarantined", "Batches whose slot something foreign used")
        self.payments = counter("payments_settled", "Payments settled, by outcome", "outcome")
        self.payments_refused = counter(
            "payments_refused", "Payments refused before signing, by code", "code"
        )
        self.answers = counter("submission_answers", "What submissions were answered with", "kind")
        self.resends = counter("resends", "Envelopes sent again unchanged")
        self.resigns = counter("resigns", "New envelopes for the same slot, by why", "why")
        self.rescues = counter("rescues", "Batches taken over from pods that were gone")
        self.claims_lost = counter("claims_lost", "Batches that another pod had taken over")
        self.reconnects = counter("listen_connects", "LISTEN connections made")
        self.database_errors = counter("database_errors", "Database calls without an answer")
        self.due_to_submitted = histogram(
            "due_to_submitted", "Run's due moment to first submission of a batch"
        )
        self.sign = histogram("sign", "Building and signing an envelope")
        self.ledger_to_settled = histogram(
            "ledger_to_settled", "Ledger's close to its settlement in the database"
        )
        self.memo_check = histogram("memo_check", "Asking whether a batch's payees demand memos")
        self.database_call = histogram("database_call", "An answered call of an SQL function", "function")
        self.in_flight = Gauge(
            "paylock_batches_in_flight", "Batches this pod is responsible for", registry=registry
        )
        self.alerts = Gauge("paylock_alert", "Active alerts, by kind", ["kind"], registry=registry)
        self.database_gauge = Gauge(
            "paylock_database", "Gauges from the database's work_summary()", ["name"], registry=registry
        )

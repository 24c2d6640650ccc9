"""What a person should mend, as gauges per kind that clear when it is mended."""

import logging
from collections import defaultdict

from prometheus_client import Gauge

log = logging.getLogger(__name__)


class Alerts:
    """Active alerts by kind and subject (a batch, the node, an account). Each is logged once when it
    starts and ends."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._active: defaultdict[str, dict[str, str]] = defaultdict(dict)

    def raise_alert(self, kind: str, subject: object, detail: str) -> None:
        """Something of this kind needs a person. Repeating it changes nothing."""
        key = str(subject)
        if key not in self._active[kind]:
            log.error("alert: %s", kind, extra={"alert": kind, "subject": key, "detail": detail})
        self._active[kind][key] = detail
        self._gauge.labels(kind).set(len(self._active[kind]))

    def clear(self, kind: str, subject: object) -> None:
        """Mended, or no longer this pod's to watch."""
        key = str(subject)
        if self._active[kind].pop(key, None) is not None:
            log.info("alert cleared: %s", kind, extra={"alert": kind, "subject": key})
            self._gauge.labels(kind).set(len(self._active[kind]))

    def clear_subject(self, subject: object) -> None:
        """Clear every alert about a subject."""
        for kind in list(self._active):
            self.clear(kind, subject)

    def active(self) -> dict[str, dict[str, str]]:
        """Detail by kind and subject."""
        return {kind: dict(subjects) for kind, subjects in self._active.items() if subjects}

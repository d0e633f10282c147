"""The queues and budgets of a manager, read from its metrics."""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from urllib.request import urlopen

from asoreconcile.base.objects import JsonObject

_MOST_HISTORY = 60
_TIMEOUT_SECONDS = 2.0
_MOST_BYTES = 16 << 20
# Other metrics are many, and not read.
_SAMPLE = re.compile(
    r"^(workqueue_depth|asoreconcile_azure_rate_limit_remaining)\{(.*)\} (\S+)$",
    re.MULTILINE,
)
_LABEL = re.compile(r'(?<!\w)(\w++)="([^"]*)"')


class ManagerCharts:
    """The present queues and budgets, and the queues' past. Read by one thread.

    document: queues and budgets in the form of the page.
    """

    def __init__(self, port: int) -> None:
        """port: port of the manager's metrics on 127.0.0.1."""
        self._url = f"http://127.0.0.1:{port}/metrics"
        self._depths: dict[str, deque[int]] = {}
        self._limits: dict[str, float] = {}
        self.document: JsonObject = {"queues": [], "budgets": []}

    def read(self) -> bool:
        """Read the metrics; return whether the document changed. Blocking."""
        try:
            with urlopen(self._url, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310
                text = answer.read(_MOST_BYTES).decode()
        except OSError:
            return False  # the manager is still starting
        return self.take(text)

    def take(self, text: str) -> bool:
        """Add the metrics in a text; return whether the document changed."""
        depths: dict[str, int] = {}
        remaining: dict[str, float] = {}
        for name, labels, value in _samples(text):
            if name == "workqueue_depth":
                kind = labels.get("name", "")
                depths[kind] = depths.get(kind, 0) + int(value)
            else:
                title = f"{labels.get('limit')} of {labels.get('subscription')}"
                remaining[title] = value
        for kind, depth in depths.items():
            history = self._depths.setdefault(kind, deque(maxlen=_MOST_HISTORY))
            history.append(depth)
        for title, value in remaining.items():
            # Azure does not state its limit: the most that it ever left is near it.
            self._limits[title] = max(value, self._limits.get(title, 0.0))
        document = {
            "queues": [
                {"kind": kind, "depth": depth, "history": [*self._depths[kind]]}
                for kind, depth in sorted(depths.items())
                if any(self._depths[kind])
            ],
            "budgets": [
                {
                    "name": title,
                    "used": self._limits[title] - value,
                    "limit": self._limits[title],
                }
                for title, value in sorted(remaining.items())
            ],
        }
        changed, self.document = document != self.document, document
        return changed


def _samples(text: str) -> Iterator[tuple[str, Mapping[str, str], float]]:
    for name, labels, value in _SAMPLE.findall(text):
        yield name, dict(_LABEL.findall(labels)), float(value)

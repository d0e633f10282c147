"""Encodes events for the API: core/v1, which all tools read, and events.k8s.io/v1.

Pure. The server stores both as one. They differ in field names, and in which fields may
change later.
"""

import re
from datetime import datetime
from typing import Protocol

from asoreconcile.base.objects import JsonObject, resource_version
from asoreconcile.kube.event_correlator import EventRecord, Series
from asoreconcile.kube.resources import EVENTS, ApiResource

# In bytes. The API server refuses longer ones, and the event would be lost.
_MAX_MESSAGE = 1024
_MAX_WORD = 128
_MAX_NAME = 63
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")

EVENT_SERIES = ApiResource("events.k8s.io", "v1", "events", "Event")


class EventEncoding(Protocol):
    """The encoding of events for one API."""

    resource: ApiResource

    def document(self, record: EventRecord, series: Series) -> JsonObject:
        """Return a new event with its name."""

    def change(self, series: Series) -> JsonObject:
        """Return a merge patch for a repeated event."""


class CoreEventEncoding:
    """The encoding for core/v1: a count, and the latest message."""

    resource = EVENTS

    def document(self, record: EventRecord, series: Series) -> JsonObject:
        """Return the Event to create; first and last time, in whole seconds."""
        last = _stamp(series.last)
        is_first = series.first is series.last
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": _metadata(record, series),
            "involvedObject": _reference(record),
            "type": record.type,
            "reason": cut(record.reason, _MAX_WORD),
            "message": cut(series.message),
            "source": {"component": record.source},
            "reportingComponent": record.source,
            "reportingInstance": "",
            "firstTimestamp": last if is_first else _stamp(series.first),
            "lastTimestamp": last,
            "count": series.count,
        }

    def change(self, series: Series) -> JsonObject:
        """Return the merge patch for a repetition: the count and the last time."""
        return {
            "count": series.count,
            "lastTimestamp": _stamp(series.last),
            "message": cut(series.message),
        }


class EventsV1Encoding:
    """The encoding for events.k8s.io/v1: the first note, and a series that counts
    repetitions.
    """

    resource = EVENT_SERIES

    def __init__(self, instance: str) -> None:
        self._instance = instance

    def document(self, record: EventRecord, series: Series) -> JsonObject:
        """Return the Event to create; it has no series before its first repetition."""
        document: JsonObject = {
            "apiVersion": EVENT_SERIES.api_version,
            "kind": "Event",
            "metadata": _metadata(record, series),
            # Required here; core/v1's two times are refused.
            "eventTime": _precise(series.first),
            # The server refuses an event if one of these four is empty.
            "reportingController": _component(record.source),
            "reportingInstance": cut(self._instance, _MAX_WORD) or "unknown",
            "action": cut(record.action or record.reason, _MAX_WORD) or "Unknown",
            "reason": cut(record.reason, _MAX_WORD) or "Unknown",
            "regarding": _reference(record),
            "note": cut(series.message),
            "type": record.type,
        }
        # An expired event is created again, with its known series.
        return {**document, **self.change(series)} if series.count > 1 else document

    def change(self, series: Series) -> JsonObject:
        """Return the merge patch for a repetition; the first note stays."""
        return {
            # All other fields of an event are immutable in this API.
            "series": {
                "count": series.count,
                "lastObservedTime": _precise(series.last),
            }
        }


def namespace_of(record: EventRecord) -> str:
    """Return the namespace of an object's events; `default` for cluster-scoped
    objects.
    """
    return record.key.namespace or "default"


def cut(text: str, most: int = _MAX_MESSAGE) -> str:
    """Truncate a text to a number of bytes, between two characters; unpaired surrogates
    are replaced, as the API refuses them.
    """
    content = text.encode("utf-8", "replace")
    if len(content) <= most:
        return content.decode()
    return content[: most - 3].decode("utf-8", "ignore") + "..."


def _component(name: str) -> str:
    """Return an application's name as a qualified name, because the API refuses any
    other text.
    """
    prefix, slash, last = name.rpartition("/")
    word = _NO_NAME.sub("-", last)[:_MAX_NAME].strip("-._") or "controller"
    return f"{prefix}{slash}{word}" if _DOMAIN.fullmatch(prefix) else word


def _metadata(record: EventRecord, series: Series) -> JsonObject:
    return {"name": series.name, "namespace": namespace_of(record)}


def _reference(record: EventRecord) -> JsonObject:
    obj = record.obj
    return {
        "apiVersion": obj.get("apiVersion"),
        "kind": obj.get("kind"),
        "namespace": record.key.namespace,
        "name": record.key.name,
        "uid": record.uid,
        "resourceVersion": resource_version(obj),
    }


def _stamp(at: datetime) -> str:
    # `strftime` takes twice as long.
    return at.isoformat(timespec="seconds")[:19] + "Z"


def _precise(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

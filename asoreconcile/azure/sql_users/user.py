"""The user of a server that an object represents, and the record of it.

The record is an annotation with a mark of the operator's key, bound to the object's
uid. It is written first when the object claims the user, and again after the server has
confirmed the creation. Only a record of a creation lets a deletion drop the user.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum

import attrs

from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    LAST_RECONCILED_VERSION,
    OWN_PREFIX,
    label_value,
)
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject, labels, uid_of
from asoreconcile.kube.finalizers import has_finalizer

UserIdentity = Mapping[str, str]
"""name, and of MySQL host."""

NOTE = OWN_PREFIX + "database-user"
_KIND = "database-user"
_OURS = "asoreconcile-"
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
_IDENTITY = ("name", "host")


class UserState(Enum):
    """The relation of an object to its user, as recorded."""

    CLAIMED = "claimed"  # nothing was sent to the server, or no answer was recorded
    ADOPTED = "adopted"  # the user was there before
    MADE = "made"  # the server confirmed that this object created the user


@attrs.frozen
class UserRecord:
    """The record of a user.

    place: the server and database, see `DatabaseServer.place`. since: time of the claim
    in UTC, as a text that sorts by time. state: relation of the object to the user.
    server_id: the server's own identifier of the user; "" if the server has none, or
    before there is a user. password: keyed hash of the password that the server took
    last, or "".
    """

    place: str
    identity: UserIdentity
    since: str
    state: UserState = UserState.CLAIMED
    server_id: str = ""
    password: str = attrs.field(default="", repr=False)

    @property
    def is_made(self) -> bool:
        """Return whether this object created the user."""
        return self.state is UserState.MADE

    def annotation(self, obj: JsonObject, key: RecordKey) -> dict[str, str]:
        """Return the annotation of the record, for one object."""
        content: JsonObject = {
            **self.identity,
            "server": self.place,
            "since": self.since,
            "state": self.state.value,
            "id": self.server_id,
            "password": self.password,
            "mark": key.sign(self._parts(uid_of(obj))),
        }
        return {NOTE: jsontext.dumps(content).decode()}

    def is_signed(self, obj: JsonObject, key: RecordKey, mark: str) -> bool:
        """Return whether a mark is that of this record, for one object."""
        return key.verify(self._parts(uid_of(obj)), mark)

    def _parts(self, uid: str) -> tuple[str, ...]:
        identity = jsontext.dumps({n: self.identity[n] for n in sorted(self.identity)})
        return (
            *(_KIND, uid, self.place, identity.decode(), self.since),
            *(self.state.value, self.server_id, self.password),
        )


def new_record(place: str, identity: UserIdentity, now: datetime) -> UserRecord:
    """Return the record of a claim that begins now."""
    return UserRecord(place, dict(identity), now.astimezone(UTC).strftime(_TIME))


def stated_record(obj: JsonObject) -> UserRecord | None:
    """Return the record that the annotation states, without checking its mark; None if
    the annotation is missing.

    It proves nothing: use it only to show what a reconcile would do.
    """
    found = _loads(obj)
    return None if found is None else found[0]


def record_of(obj: JsonObject, key: Callable[[], RecordKey]) -> UserRecord | None:
    """Return the record of an object; None if there is none with the operator's mark.

    key: function that returns the key; called only if there is a record to verify. Its
    exceptions are raised.
    """
    found = _loads(obj)
    if found is None:
        return None
    record, mark = found
    return record if mark and record.is_signed(obj, key(), mark) else None


def is_from_aso(obj: JsonObject, own_build: str = "") -> bool:
    """Return whether Azure Service Operator reconciled the object, and this operator
    has recorded nothing since.

    Azure Service Operator itself records nothing about users.

    own_build: the build of this operator.
    """
    build = labels(obj).get(LAST_RECONCILED_VERSION, "")
    return (
        bool(build)
        and not build.startswith(_OURS)
        and build != label_value(own_build)
        and has_finalizer(obj, FINALIZER)
        and NOTE not in annotations(obj)
    )


def shown_user(identity: UserIdentity) -> str:
    """Return the user in the usual notation: `name`, or `name@host`."""
    host = identity.get("host")
    return f"{identity['name']}@{host}" if host else identity["name"]


def _loads(obj: JsonObject) -> tuple[UserRecord, str] | None:
    note = annotations(obj).get(NOTE)
    try:
        said = jsontext.loads(note.encode()) if note else None
    except (AsoreconcileError, ValueError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("name"), str):
        return None
    text = {name: str(said.get(name) or "") for name in _TEXTS}
    record = UserRecord(
        place=text["server"],
        identity={name: str(said[name]) for name in _IDENTITY if name in said},
        since=text["since"],
        state=_STATES.get(text["state"], UserState.CLAIMED),
        server_id=text["id"],
        password=text["password"],
    )
    return record, text["mark"]


_STATES = {one.value: one for one in UserState}
_TEXTS = ("server", "since", "state", "id", "password", "mark")

"""Keeps the key of the operator's records in a Secret of the operator's namespace.

The first replica makes the Secret; all others use the stored key. A reader of the
Secret can forge records, so it is read by its name, directly and never through a cache.
"""

import base64
import binascii
import threading

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.catalogue.reserved import RECORD_KEY_SECRET
from asoreconcile.azure.reconcile.model.record_key import RecordKey, RecordKeyError
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject, ObjectKey
from asoreconcile.base.single_flight import SingleFlight
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import (
    AlreadyExistsError,
    ApiError,
    NotFoundError,
    TransportError,
)
from asoreconcile.kube.resources import SECRETS

_log = Logger(__name__)

# A rotated key is in use everywhere after this time.
FRESH_SECONDS = 300.0
KEY, PREVIOUS = "key", "previous"


@attrs.frozen
class _Read:
    """A record key that was read from the Secret.

    at: start of the read, in `Clock.monotonic` seconds.
    """

    key: RecordKey
    at: float


class RecordKeySecret:
    """The operator's record key, for `SharedDependencies`. Safe from any thread."""

    def __init__(self, store: KubeClient, namespace: str, clock: Clock) -> None:
        self._store = store
        self._name = ObjectKey(namespace, RECORD_KEY_SECRET)
        self._clock = clock
        self._reads: SingleFlight[str, _Read] = SingleFlight()
        self._lock = threading.Lock()
        self._last: _Read | None = None

    def __call__(self) -> RecordKey:
        """Return the key; read the Secret again if the last read is five minutes old.

        The first call creates the Secret if there is none. A key that was read stays in
        use while the Secret cannot be read, and is stored again if the Secret was
        deleted: with another key no record of this operator would count.

        Blocking; raises ConditionError `RecordKeyUnreadable` before the first read.
        """
        last = self._last
        if last is not None and self._clock.monotonic() - last.at < FRESH_SECONDS:
            return last.key
        try:
            read = self._reads.do("", self._read)
        except (ApiError, TransportError, RecordKeyError) as error:
            if last is None:
                raise _unreadable(self._name, error) from error
            _log.warning("Cannot read the record key again", reason=str(error))
            # The next read is not due at once, or every reconcile would wait for it.
            read = _Read(last.key, self._clock.monotonic())
        with self._lock:
            self._last = read
        return read.key

    def _read(self) -> _Read:
        at = self._clock.monotonic()
        try:
            return _Read(_key_of(self._get()), at)
        except NotFoundError:
            pass
        return _Read(self._created(), at)

    def _created(self) -> RecordKey:
        known = self._last
        key = RecordKey.new() if known is None else known.key
        encoded = base64.b64encode(key.dumps().encode()).decode()
        meta = {"name": self._name.name, "namespace": self._name.namespace}
        secret = {"metadata": meta, "type": "Opaque", "data": {KEY: encoded}}
        try:
            made = self._store.create(SECRETS, secret)
        except AlreadyExistsError:
            # Another replica was faster: its key is the one in force.
            made = self._get()
        else:
            _log.warning(
                "Made the Secret of the record key: records made with another key count"
                " as those of another operator",
                secret=str(self._name),
                isNew=known is None,
            )
        return _key_of(made)

    def _get(self) -> JsonObject:
        return self._store.get(SECRETS, self._name)


def _key_of(secret: JsonObject) -> RecordKey:
    data = secret.get("data") or {}
    return RecordKey.load(_text(data, KEY), _text(data, PREVIOUS))


def _text(data: JsonObject, name: str) -> str:
    try:
        return base64.b64decode(data.get(name) or "", validate=True).decode().strip()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise RecordKeyError(f"entry {name!r} is not text") from error


def _unreadable(secret: ObjectKey, error: Exception) -> ConditionError:
    return ConditionError(
        f"the key of the operator's records, Secret {secret}, cannot be used, so "
        f"nothing is sent to Azure: {error}. The operator needs the permission to get "
        "and create this Secret; restore it from a backup, or, if it is lost, delete "
        "it: the operator makes a new one, and judges objects as those of another "
        "operator until it has reconciled them once",
        reason="RecordKeyUnreadable",
        retry=RetryClass.FAST,
    )

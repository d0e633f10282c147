"""Records the exported Secrets, and decides when their values are fetched again. Pure.

An annotation of the object records a fingerprint of the inputs of its Secrets, the
birth of the resource, a keyed hash of the content of each exported object with its
version, and the time at which a new credential has to be made. Values
that Azure only shows are fetched again at syncs, because they may change in Azure. A
request that makes a credential is not repeated without need, because every credential
stays valid.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import TypeGuard

import attrs

from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    OWN_PREFIX,
    ROTATE,
    is_operators_own,
)
from asoreconcile.azure.reconcile.model.birth import is_other_birth
from asoreconcile.azure.reconcile.model.export_targets import (
    SECRET_EXPRESSIONS,
    expression_targets,
)
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject, dig, generation, labels, spec, status

EXPORTED = OWN_PREFIX + "exported-secrets"
# 128 bits, which keep the annotation short.
_DIGITS = 32
_HOUR_SECONDS = 3600.0
# Syncs of one period differ by seconds: each second one would come too early.
_EARLY_SECONDS = 60.0
# A credential is renewed with a third of its life left, which leaves time for retries.
_RENEWAL_RETRY_SECONDS = 900.0


@attrs.frozen
class ExportRecord:
    """The last export of an object's Secrets, as recorded in the annotation.

    of: the fingerprint of the inputs; "" if the values must be fetched again. secrets,
    config_maps: keyed hash of the content by name. versions: the resource version of
    each by `Kind/name`; none in a record of an earlier release. uses_status: whether
    values came from the status. renew_at: when the credential that was made has to be
    replaced, in seconds since the epoch; None if none was made. born: the birth of the
    resource (`birth_of`), or "".
    """

    of: str
    secrets: Mapping[str, str]
    uses_status: bool = True
    renew_at: float | None = None
    born: str = ""
    config_maps: Mapping[str, str] = attrs.field(factory=dict)
    versions: Mapping[str, str] = attrs.field(factory=dict)

    def dumps(self) -> str:
        """Return the annotation's text."""
        content: JsonObject = {"of": self.of, "secrets": dict(self.secrets)}
        if self.uses_status:
            content["status"] = True
        if self.renew_at is not None:
            content["renew"] = round(self.renew_at)
        if self.born:
            content["born"] = self.born
        if self.config_maps:
            content["maps"] = dict(self.config_maps)
        if self.versions:
            content["versions"] = dict(self.versions)
        return jsontext.dumps(content, sort_keys=True).decode()

    def fingerprint(self, obj: JsonObject) -> str:
        """Return the fingerprint of an object's present inputs."""
        return fingerprint(
            obj, uses_status=self.uses_status, is_made=self.renew_at is not None
        )

    def is_of(self, obj: JsonObject) -> bool:
        """Return whether the values are of an object's present inputs, and of the
        resource that its status shows.
        """
        same = self.of == self.fingerprint(obj)
        return same and not is_other_birth(self.born, status(obj))

    def targets(self) -> Iterator[tuple[str, str, str]]:
        """Yield kind, name and hash of each exported object."""
        for kind, hashes in (("Secret", self.secrets), ("ConfigMap", self.config_maps)):
            for name, of in sorted(hashes.items()):
                yield kind, name, of


@attrs.frozen
class ExportTry:
    """The last request for values in this process.

    of: fingerprint of the inputs. The time is in monotonic seconds.
    """

    of: str
    at: float


def loads(text: str) -> ExportRecord | None:
    """Return the record in an annotation's text; None if the text is
    empty or invalid.
    """
    try:
        content = jsontext.loads(text) if text else None
    except jsontext.JSONDecodeError:
        return None
    if not isinstance(content, dict):
        return None
    of, secrets, renew = (content.get(name) for name in ("of", "secrets", "renew"))
    if not isinstance(of, str) or not _are_texts(secrets):
        return None
    born, maps, versions = (content.get(n) for n in ("born", "maps", "versions"))
    is_time = isinstance(renew, int) and not isinstance(renew, bool)
    return ExportRecord(
        of,
        secrets,
        uses_status=content.get("status") is True,
        renew_at=renew if is_time else None,
        born=born if isinstance(born, str) else "",
        config_maps=maps if _are_texts(maps) else {},
        versions=versions if _are_texts(versions) else {},
    )


def recorded_targets(obj: JsonObject) -> set[tuple[str, str]]:
    """Return kind and name of each object that the last export has written; an
    extension may have named it.
    """
    noted = annotations(obj).get(EXPORTED)
    record = loads(noted) if noted else None
    return set() if record is None else {(k, n) for k, n, _ in record.targets()}


def _are_texts(value: object) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())


def withdrawn(text: str) -> str:
    """Return the text of a record after which all values are fetched again, because the
    resource is another one than the record's. Another text stays.
    """
    record = loads(text)
    return text if record is None else attrs.evolve(record, of="").dumps()


def fingerprint(obj: JsonObject, *, uses_status: bool, is_made: bool) -> str:
    """Return a fingerprint of the inputs of an object's Secrets, made without secrets.

    The inputs are its exports, and the annotation that a person changes to have keys
    fetched again, `asoreconcile/rotate-secrets`. Unless a credential was made
    (`is_made`), they are also its generation, the labels and annotations for
    expressions, and the status if values come from it (`uses_status`) or expressions
    may use it.
    """
    content: list[object] = [
        dig(spec(obj), "operatorSpec"),
        annotations(obj).get(ROTATE),
    ]
    if not is_made:
        content.append(generation(obj))
        has_expressions = bool(expression_targets(obj, SECRET_EXPRESSIONS))
        if uses_status or has_expressions:
            found = status(obj)
            content.append({n: v for n, v in found.items() if n != "conditions"})
        if has_expressions:
            own = annotations(obj)
            content += [
                labels(obj),
                {n: v for n, v in own.items() if not is_operators_own(n)},
            ]
    text = jsontext.dumps(content, sort_keys=True)
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


def is_due(
    record: ExportRecord,
    last: ExportTry | None,
    *,
    period_seconds: float | None,
    monotonic: float,
    now: float,
) -> bool:
    """Return whether values are fetched again although no input has changed.

    last: the last request of this process. period_seconds: the sync period; None for
    never. monotonic: present time by the monotonic clock. now: present time in seconds
    since the epoch.
    """
    age = None if last is None else monotonic - last.at
    if record.renew_at is not None:
        return now >= record.renew_at and (age is None or age >= _RENEWAL_RETRY_SECONDS)
    if period_seconds is None:
        return False
    return age is None or age >= max(_HOUR_SECONDS, period_seconds) - _EARLY_SECONDS


def may_retry(last: ExportTry | None, of: str, *, monotonic: float) -> bool:
    """Return whether a request for these inputs that has failed may be repeated."""
    if last is None or last.of != of:
        return True
    return monotonic - last.at >= _HOUR_SECONDS - _EARLY_SECONDS


def seconds_until_renewal(text: str, *, now: float) -> float | None:
    """Return the seconds until a new credential has to be made; None if none was made.

    text: text of the annotation. If the time has passed, the seconds until the next try
    are returned.
    """
    record = loads(text)
    if record is None or record.renew_at is None:
        return None
    left = record.renew_at - now
    return left if left > 0 else _RENEWAL_RETRY_SECONDS

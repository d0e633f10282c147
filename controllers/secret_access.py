"""Make sure that the last author of an object may read the Secrets that its spec names.

Otherwise the author of a custom resource could send a Secret that only the operator may
read to a resource in Azure, and read it there. The webhook records the author of a spec
that names Secrets, in an annotation with a mark of the record key. The reconciler asks
the API server whether that user may read them. An administrator switches on both.
"""

from collections.abc import Callable

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.conversion import KindConversionError, convert
from asoreconcile.azure.catalogue.inputs import inputs_of
from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import AUTHOR, CREDENTIAL_FROM
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.base import jsontext, objects
from asoreconcile.base.objects import JsonObject, gvk_of, key_of, metadata, spec
from asoreconcile.runtime.metrics_authorization import AccessReviews
from asoreconcile.webhooks.admission import AdmissionRequest, Denied


@attrs.frozen
class AuthorRecords:
    """Records authors at admission (`admission.Admission`). Safe from any thread.

    record_key: returns the key for the mark; raises ConditionError.
    """

    record_key: Callable[[], RecordKey]

    def __call__(
        self, request: AdmissionRequest, version: KindVersion, made: JsonObject
    ) -> JsonObject | Denied:
        """Return the object to store, with the record of its author.

        made: the object with its defaults. The author stays the same if a write changes
        neither the spec, nor the credential, nor the record, as the operator's writes
        do not. Defaults do not count, as they may be added to a write of the operator.
        """
        if request.old is not None and _written(request.obj) == _written(request.old):
            return made
        # As they were written: a text that is too long to be read is kept.
        notes = dict(objects.annotations(made))
        notes.pop(AUTHOR, None)
        named = inputs_of(version, spec(made))
        if any(given.kind in ("secret", "secret-map") for given in named):
            user = jsontext.dumps(request.user, sort_keys=True).decode()
            parts = _parts(made, request.key.namespace, user)
            try:
                mark = self.record_key().sign(parts)
            except ConditionError as error:
                return Denied(str(error), code=503, reason="ServiceUnavailable")
            notes[AUTHOR] = f"{mark} {version.gvk.version} {user}"
        return {**made, "metadata": {**metadata(made), "annotations": notes}}


@attrs.frozen
class SecretAccess:
    """Says whether a Secret may be read for an object. Safe from any thread.

    reviews: asks the API server.
    """

    catalogue: Catalogue
    record_key: Callable[[], RecordKey]
    reviews: AccessReviews

    def __call__(self, obj: JsonObject, name: str) -> str:
        """Return why a Secret of the object's namespace may not be read, or "".

        Blocking; raises ApiError, TransportError, ConditionError `RecordKeyUnreadable`.
        """
        user = self._author(obj)
        if user is None:
            return (
                "the webhook has no record of the author of this spec: the author "
                f"writes it again, or sets the annotation {AUTHOR} to any value"
            )
        wanted = {
            "namespace": key_of(obj).namespace,
            "verb": "get",
            "resource": "secrets",
            "name": name,
        }
        if self.reviews.allow(user, resourceAttributes=wanted):
            return ""
        return f"its author {user.get('username')} may not get that Secret"

    def _author(self, obj: JsonObject) -> JsonObject | None:
        """Return the user in the object's record, if the record is genuine and is about
        the present spec.
        """
        match (annotations(obj).get(AUTHOR) or "").split(" ", 2):
            case [mark, version, user]:
                pass
            case _:
                return None
        try:
            written = convert(self.catalogue.kind(gvk_of(obj).group_kind), obj, version)
        except KindConversionError:
            return None
        parts = _parts(written, key_of(obj).namespace, user)
        if not self.record_key().verify(parts, mark):
            return None
        found: JsonObject = jsontext.loads(user)
        return found


def _written(obj: JsonObject | None) -> tuple[JsonObject, str | None, str | None]:
    """Return the parts of an object that make the user who changes them its author."""
    notes = annotations(obj or {})
    return spec(obj or {}), notes.get(CREDENTIAL_FROM), notes.get(AUTHOR)


def _parts(obj: JsonObject, namespace: str, user: str) -> tuple[str, ...]:
    """Return the facts that the mark covers.

    They include the whole spec, as stored forms are written without the webhook. The
    uid is not among them: the API server has none before it stores an object.
    """
    credential = annotations(obj).get(CREDENTIAL_FROM) or ""
    content = jsontext.dumps(spec(obj), sort_keys=True).decode()
    kind = str(gvk_of(obj).group_kind)
    return "author", namespace, kind, credential, content, user

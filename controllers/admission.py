"""Validate and complete Azure objects before they are stored.

The functions are the reconciler's, but here the author still sees the result. They
serve `webhooks.server.WebhookServer`: one function each for all kinds, under any path.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Protocol

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.changes import change_problems
from asoreconcile.azure.catalogue.conversion import (
    KindConversionError,
    VersionForm,
    convert,
    form,
)
from asoreconcile.azure.catalogue.defaults import with_defaults
from asoreconcile.azure.catalogue.kind_rules import is_fixed_user
from asoreconcile.azure.catalogue.kinds import (
    Catalogue,
    KindVersion,
    NotInCatalogueError,
    UnknownVersionError,
)
from asoreconcile.azure.catalogue.problems import Problem, schema_problems
from asoreconcile.azure.catalogue.validation import long_texts, rule_problems
from asoreconcile.azure.controllers.annotation_rules import (
    annotation_problems,
    new_warnings,
)
from asoreconcile.azure.controllers.live_objects import as_reviewed
from asoreconcile.azure.reconcile.model.annotation_bounds import bounded
from asoreconcile.azure.reconcile.model.annotations import FINALIZER, RESOURCE_ID
from asoreconcile.azure.reconcile.model.placeholders import with_placeholders
from asoreconcile.azure.reconcile.model.standing import may_move
from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import (
    GroupVersionKind,
    JsonObject,
    annotations,
    finalizers,
    gvk_of,
    is_deleting,
    spec,
)
from asoreconcile.webhooks.admission import AdmissionRequest, Allowed, Denied

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_WARNINGS = 10
_MAX_LENGTH = 250  # API servers cut a warning off at 256 bytes
# All annotations of a stored object have no more: anyone can send a longer one.
_MOST_APPLIED = 1 << 18
# A suggestion costs 80 us, and anyone can ask for a hundred thousand.
_MOST_LOOKED_AT = 100


def dropped_fields(
    catalogue: Catalogue, obj: JsonObject, old: JsonObject | None
) -> tuple[str, ...]:
    """Return a warning for each field that a write by kubectl lost, with the name that
    was probably meant.

    old: the object before the write; fields that it had already lost are not reported
    again.

    Pure. Checks only the spec, in the version that was written, to a bounded number of
    problems.
    """
    noted = annotations(obj).get(LAST_APPLIED)
    if not noted or noted == annotations(old or {}).get(LAST_APPLIED):
        return ()
    if len(noted) > _MOST_APPLIED:
        return ()
    written = _manifest(noted)
    try:
        schema = catalogue.version(gvk_of(written)).spec_schema
    except (NotInCatalogueError, UnknownVersionError):
        return ()
    warnings = [
        f"{problem.path} was dropped: {problem.message}"[:_MAX_LENGTH]
        for problem in islice(
            schema_problems(schema, spec(written), "spec"), _MOST_LOOKED_AT
        )
        if problem.is_unknown
    ]
    return tuple(warnings[:_MAX_WARNINGS])


def _manifest(text: str) -> JsonObject:
    """Return the manifest in an annotation's text; {} if the text is not a JSON
    object.
    """
    try:
        found = jsontext.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


AdmissionCheck = Callable[[KindVersion, JsonObject], list[Problem]]
LiveObject = Callable[[AdmissionRequest], JsonObject | None]
"""Returns the object that a review is about, as it is now; None if there is none."""

_MAX_PROBLEMS = 20


class WriterCheck(Protocol):
    """Returns why the user of a write may not make it, or "". is_stored: whether it is
    a write of a stored form. Raises AsoreconcileError.
    """

    def __call__(
        self, request: AdmissionRequest, version: KindVersion, *, is_stored: bool
    ) -> str: ...


def any_writer(
    request: AdmissionRequest,  # noqa: ARG001
    version: KindVersion,  # noqa: ARG001
    *,
    is_stored: bool,  # noqa: ARG001
) -> str:
    """Allow every writer (a `WriterCheck`)."""
    return ""


class Admission:
    """Checks writes by the rules of a catalogue's kinds. Safe from any thread."""

    def __init__(
        self,
        catalogue: Catalogue,
        *checks: AdmissionCheck,
        cluster_checks: Sequence[AdmissionCheck] = (),
        refuse_deletion: Callable[[JsonObject], str] = lambda _obj: "",
        owner_id: Callable[[KindVersion, JsonObject], str] = lambda _version, _obj: "",
        live: LiveObject = as_reviewed,
        check_writer: WriterCheck = any_writer,
    ) -> None:
        """checks: further checks of an object, such as of its expressions.
        cluster_checks: checks that compare it with others, or with its Namespace.
        refuse_deletion: returns why an object may not be deleted, or "". owner_id:
        returns the ARM id of an object's owner, or "" if it is not known. live: used
        before cluster_checks, refuse_deletion and owner_id: an object that is not there
        learns nothing of others.
        """
        self._cluster_checks = tuple(cluster_checks)
        self._live = live
        self._check_writer = check_writer
        self._catalogue = catalogue
        self._refuse_deletion = refuse_deletion
        self._owner_id = owner_id
        self._checks: tuple[AdmissionCheck, ...] = (rule_problems, *checks)

    def validate(self, request: AdmissionRequest) -> Allowed | Denied:
        """Return whether a write is allowed; reports all problems at once.

        A write that changes neither the spec nor an annotation of a person is always
        allowed, and so is a write of an object that is being deleted: an object that
        violates a newer rule must stay manageable. An annotation that is set to a
        wrong value is always refused: it may be meant to protect the resource (R1.7).
        Dropped fields and misspelt annotations cause a warning. A stored form is judged
        as the version that it is made from. Rules: R10.1, R10.2, OW-4, WH-11, WH-12.
        """
        if request.operation == "DELETE":
            return self._deletion(request)
        known = self._form(request.gvk)
        if request.obj is None or known is None or request.subresource:
            return Allowed()
        version = known.version
        if known.stored:
            try:
                request = self._converted(request, version)
            except KindConversionError as error:
                return Denied(str(error), code=422, reason="Invalid")
        try:
            why = self._check_writer(request, version, is_stored=known.stored)
        except AsoreconcileError as error:
            return Denied(str(error), code=503, reason="ServiceUnavailable")
        return Denied(why) if why else self._judged(request, version)

    def _judged(
        self, request: AdmissionRequest, version: KindVersion
    ) -> Allowed | Denied:
        obj, old = request.obj or {}, request.old
        problems = annotation_problems(version, obj, old)
        warnings: tuple[str, ...] = ()
        if not is_deleting(obj):
            warnings = dropped_fields(self._catalogue, obj, old)
            warnings = (*warnings, *new_warnings(obj, old))
        if not is_deleting(obj) and (old is None or spec(old) != spec(obj)):
            problems += self._spec_problems(request, version, obj)
        if not problems:
            return Allowed(warnings)
        problem_texts = [str(problem) for problem in problems[:_MAX_PROBLEMS]]
        if len(problems) > _MAX_PROBLEMS:
            problem_texts.append(f"and {len(problems) - _MAX_PROBLEMS} more")
        message = "; ".join(problem_texts)
        return Denied(message, code=422, reason="Invalid", warnings=warnings)

    def _spec_problems(
        self, request: AdmissionRequest, version: KindVersion, obj: JsonObject
    ) -> list[Problem]:
        problems: list[Problem] = []
        old, is_live = request.old, self._live(request) is not None
        if old is not None:
            if is_live and self._has_same_owner(version, old, obj):
                old = {**old, "spec": {**spec(old), "owner": spec(obj)["owner"]}}
            problems += change_problems(
                *(version, old, obj),
                claimed=_is_claimed(version, obj),
                name=_name_in_azure(obj),
            )
        for check in (*self._checks, *(self._cluster_checks if is_live else ())):
            problems += check(version, obj)
        # A text that an older version of the operator has let in does not keep its
        # object from being edited.
        kept = long_texts(spec(request.old or {})) if request.old else {}
        if kept:
            now = long_texts(spec(obj))
            problems = [
                one
                for one in problems
                if not (one.is_long and kept.get(one.path) == now.get(one.path))
            ]
        return problems

    def _has_same_owner(
        self, version: KindVersion, old: JsonObject, obj: JsonObject
    ) -> bool:
        """Return whether a write names another owner that has the same ARM id."""
        before, after = spec(old).get("owner"), spec(obj).get("owner")
        if not before or not after or before == after:
            return False
        id_ = self._owner_id(version, obj)
        return bool(id_) and ids.same(id_, self._owner_id(version, old))

    def _deletion(self, request: AdmissionRequest) -> Allowed | Denied:
        """Return whether an object may be deleted, whatever version it is read in."""
        try:
            self._catalogue.kind(request.gvk.group_kind)
        except NotInCatalogueError:
            return Allowed()  # the rule of the webhook names whole groups
        if request.old is None or request.subresource:
            return Allowed()
        # As it is now: a review may state another id than the object has.
        live = self._live(request)
        why = "" if live is None else self._refuse_deletion(live)
        return Denied(why) if why else Allowed()

    def mutate(self, request: AdmissionRequest) -> JsonObject | Denied:
        """Return the object with its defaults. Rules: R10.1, R10.3, R10.4."""
        obj = request.obj or {}
        known = self._form(request.gvk)
        # A stored form gets its defaults from the reconciler.
        if known is None or known.stored or request.subresource or is_deleting(obj):
            return obj
        name = _claimed_name(obj, request.old)
        made = with_defaults(known.version, obj, claimed_name=name)
        return with_placeholders(known.version, made, request.old)

    def _form(self, gvk: GroupVersionKind) -> VersionForm | None:
        """Return the catalogue's version; None for other kinds."""
        try:
            return form(self._catalogue.kind(gvk.group_kind), gvk.version)
        except (NotInCatalogueError, UnknownVersionError):
            return None

    def _converted(
        self, request: AdmissionRequest, version: KindVersion
    ) -> AdmissionRequest:
        """Return a request about stored forms as one about a version that users write.
        Raises KindConversionError.
        """
        kind = self._catalogue.kind(version.group_kind)
        obj, old = (
            None if one is None else convert(kind, one, version.gvk.version)
            for one in (request.obj, request.old)
        )
        return attrs.evolve(request, obj=obj, old=old)


def _is_claimed(version: KindVersion, obj: JsonObject) -> bool:
    """Return whether a resource outside the cluster may have the object's name.

    The reconciler verifies the record of the claim, and refuses a change that a forged
    record has let through.
    """
    if version.is_arm:
        own = bounded(annotations(obj))
        return bool(own.get(RESOURCE_ID)) and not may_move(own)
    return is_fixed_user(version.group_kind) and FINALIZER in finalizers(obj)


def _claimed_name(obj: JsonObject, old: JsonObject | None) -> str:
    return spec(old or {}).get("azureName") or _name_in_azure(obj)


def _name_in_azure(obj: JsonObject) -> str:
    return bounded(annotations(obj)).get(RESOURCE_ID, "").rpartition("/")[2]

"""Fields that the API server dropped from a write before it called the webhook.

By default kubectl has unknown fields refused, in the API server's words, and no webhook
is called. With `--validate=warn` or `=false` the field is dropped. The annotation of
kubectl's client-side apply still has it, as that keeps the whole manifest. Writes
without the annotation, such as Helm's, cannot be checked here.
"""

from asoreconcile.azure.catalogue.kinds import (
    Catalogue,
    NotInCatalogueError,
    UnknownVersionError,
)
from asoreconcile.azure.catalogue.problems import schema_problems
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject, annotations, gvk_of, spec

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_WARNINGS = 10
_MAX_LENGTH = 250  # API servers cut a warning off at 256 bytes


def dropped_fields(
    catalogue: Catalogue, obj: JsonObject, old: JsonObject | None
) -> tuple[str, ...]:
    """Return a warning for each field that a write by kubectl lost, with the intended
    one.

    old: the object before the write; fields that it had already lost are not reported
    again.

    Pure. Checks only the spec, in the version that was written.
    """
    noted = annotations(obj).get(LAST_APPLIED)
    if not noted or noted == annotations(old or {}).get(LAST_APPLIED):
        return ()
    written = _manifest(noted)
    try:
        schema = catalogue.version(gvk_of(written)).spec_schema
    except (NotInCatalogueError, UnknownVersionError):
        return ()
    warnings = [
        f"{problem.path} was dropped: {problem.message}"[:_MAX_LENGTH]
        for problem in schema_problems(schema, spec(written), "spec")
        if problem.is_unknown
    ]
    return tuple(warnings[:_MAX_WARNINGS])


def _manifest(text: str) -> JsonObject:
    """Return {} if the text is not a JSON object: the annotation may contain
    anything.
    """
    try:
        found = jsontext.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}

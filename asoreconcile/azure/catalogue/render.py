"""Render manifests as the requests that would be sent to Azure, without cluster or
network.

A spec is validated, named, located and mapped in one call. Facts that only Azure knows,
such as child resources that a PUT has to keep, are not included.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.inputs import inputs_of
from asoreconcile.azure.catalogue.kinds import (
    Catalogue,
    KindVersion,
    NotInCatalogueError,
    UnknownVersionError,
)
from asoreconcile.azure.catalogue.manifests import Manifest
from asoreconcile.azure.catalogue.payload import Inputs, to_arm
from asoreconcile.azure.catalogue.problems import Problem
from asoreconcile.azure.catalogue.resolution import Answers, Resolution
from asoreconcile.azure.catalogue.validation import name_problems, problems
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    annotations,
    gvk_of,
    key_of,
    metadata,
    spec,
)

# As `azure.annotations` has it.
_POLICY = "serviceoperator.azure.com/reconcile-policy"
_CREDENTIAL = "serviceoperator.azure.com/credential-from"
Checks = Callable[[KindVersion, JsonObject], Sequence[Problem]]
_NOBODY: Mapping[GroupKind, "DescribeOutside"] = {}
_INPUT_KINDS = (GroupKind("", "Secret"), GroupKind("", "ConfigMap"))


def _no_problems(_version: KindVersion, _obj: JsonObject) -> Sequence[Problem]:
    return ()


@attrs.frozen
class RenderedRequest:
    """A request that would be sent. path: the resource's ARM id."""

    path: str
    api_version: str
    body: JsonObject
    method: str = "PUT"

    def to_json(self) -> JsonObject:
        """Return the request as `asoctl render` prints it."""
        return {
            "method": self.method,
            "path": self.path,
            "apiVersion": self.api_version,
            "body": self.body,
        }


DescribeOutside = Callable[[JsonObject, Inputs], JsonObject]
"""What an object of a kind without ARM means where it is: a document to print. Raises
an AsoreconcileError for what cannot be.
"""


@attrs.frozen
class RenderedOutside:
    """The document of an object without ARM, made by its `DescribeOutside`."""

    document: JsonObject

    def to_json(self) -> JsonObject:
        """Return the document as `asoctl render` prints it."""
        return self.document


@attrs.frozen
class Rendered:
    """The result of `render`.

    requests: one for each manifest of an ARM resource, in the order of the manifests.
    outside: documents of kinds without ARM.
    skipped: manifests that are neither Azure resources nor inputs, such as a
    Deployment.
    """

    requests: tuple[RenderedRequest, ...]
    skipped: tuple[Manifest, ...]
    outside: tuple[RenderedOutside, ...] = ()


class RenderError(AsoreconcileError):
    """Manifests that cannot be rendered; lists every problem with file and line."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problems))


def render(
    catalogue: Catalogue,
    manifests: Sequence[Manifest],
    *,
    answers: Answers | None = None,
    subscription_id: str = "",
    show_secrets: bool = False,
    more_problems: Checks = _no_problems,
    describe: Mapping[GroupKind, DescribeOutside] = _NOBODY,
) -> Rendered:
    """Return the requests that the given manifests describe.

    answers: values of names that the manifests do not define.
    subscription_id: the subscription of resource groups.
    show_secrets: if true, bodies contain the values of Secrets; else `***` for each.
    more_problems: a further check of each object; an exception from it ends the call.
    describe: functions for kinds without ARM.

    Raises RenderError with the problems of all manifests at once; nothing is rendered
    then. Reads no file and changes no manifest.
    """
    # kubectl would put them there, and references are looked up in one namespace.
    placed = [attrs.evolve(m, obj=_with_namespace(m.obj)) for m in manifests]
    resolution = Resolution(
        catalogue,
        [manifest.obj for manifest in placed],
        answers=answers,
        subscription_id=subscription_id,
    )
    requests: list[RenderedRequest] = []
    outside: list[RenderedOutside] = []
    skipped: list[Manifest] = []
    found: list[str] = []
    by_id: defaultdict[str, dict[object, Manifest]] = defaultdict(dict)
    for manifest in placed:
        gvk = gvk_of(manifest.obj)
        if gvk.group_kind in _INPUT_KINDS:
            continue
        if not _is_ours(catalogue, gvk.group):
            skipped.append(manifest)
            continue
        texts, request = _one(
            catalogue,
            resolution,
            manifest.obj,
            show_secrets=show_secrets,
            more_problems=more_problems,
            describe=describe,
        )
        found += [f"{_label(manifest)}: {text}" for text in texts]
        if isinstance(request, RenderedOutside):
            outside.append(request)
            continue
        requests += [request] if request else []
        # An object that only reads may share a resource with the one that manages it.
        if request and annotations(manifest.obj).get(_POLICY) != "skip":
            named = gvk.group_kind, key_of(manifest.obj)
            by_id[ids.key(request.path)].setdefault(named, manifest)
    found += [_double(several) for several in by_id.values() if len(several) > 1]
    # Half of a set of manifests would be applied, and the rest found out in Azure.
    if found:
        raise RenderError(found)
    return Rendered(tuple(requests), tuple(skipped), tuple(outside))


def _double(several: Mapping[object, Manifest]) -> str:
    first, *others = (_label(manifest) for manifest in several.values())
    return (
        f"{', '.join(others)}: stands for the same Azure resource as {first}: in one "
        "cluster only the older one manages it"
    )


def request_of(
    version: KindVersion,
    obj: JsonObject,
    resolution: Resolution,
    *,
    show_secrets: bool = True,
) -> RenderedRequest:
    """Return the request of one object, even if its spec is not valid.

    show_secrets: see `render`.

    Unknown fields are not sent. Raises SpecError, and ResolutionError for the first
    name that cannot be resolved.
    """
    body = to_arm(
        version,
        spec(obj),
        name=resolution.name_of(version, obj),
        inputs=resolution.inputs(key_of(obj).namespace, show_secrets=show_secrets),
    )
    return RenderedRequest(
        resolution.arm_id_of(version, obj), version.api_version, body
    )


def _one(
    catalogue: Catalogue,
    resolution: Resolution,
    obj: JsonObject,
    *,
    show_secrets: bool,
    more_problems: Checks,
    describe: Mapping[GroupKind, DescribeOutside],
) -> tuple[list[str], RenderedRequest | RenderedOutside | None]:
    try:
        version = catalogue.version(gvk_of(obj))
    except (NotInCatalogueError, UnknownVersionError) as error:
        return [str(error)], None
    if not version.is_arm and version.group_kind not in describe:
        return ["this kind is no ARM resource: there is nothing to send"], None
    wrong = problems(version, obj)
    more = more_problems(version, obj)
    texts = [str(found) for found in (*wrong, *name_problems(version, obj), *more)]
    texts += _annotated(obj, resolution)
    texts += _unresolved(version, obj, resolution, {problem.path for problem in wrong})
    outside: RenderedOutside | None = None
    try:
        if version.is_arm:
            resolution.arm_id_of(version, obj)
        elif not texts:
            namespace = key_of(obj).namespace
            inputs = resolution.inputs(namespace, show_secrets=show_secrets)
            outside = RenderedOutside(describe[version.group_kind](obj, inputs))
    except AsoreconcileError as error:
        texts.append(str(error))
    if texts or outside:
        return texts, outside
    return [], request_of(version, obj, resolution, show_secrets=show_secrets)


def _annotated(obj: JsonObject, resolution: Resolution) -> list[str]:
    """Return the problem of a credential that is not among the manifests."""
    found = annotations(obj)
    texts = []
    if secret := found.get(_CREDENTIAL):
        try:
            resolution.secret_map({"name": secret}, key_of(obj).namespace)
        except AsoreconcileError as error:
            texts.append(f"{_CREDENTIAL}: {error}")
    return texts


def _unresolved(
    version: KindVersion, obj: JsonObject, resolution: Resolution, wrong: set[str]
) -> list[str]:
    """Return a text for each input that cannot be resolved.

    wrong: paths that are known to be invalid; their inputs are skipped.
    """
    texts = []
    for needed in inputs_of(version, spec(obj)):
        # Said by its own problem: a second line about it would only hide that one.
        if any(path.startswith(needed.path) for path in wrong):
            continue
        try:
            resolution.resolve(needed, key_of(obj).namespace)
        except AsoreconcileError as error:
            texts.append(f"{needed.path}: {error}")
    return texts


def _is_ours(catalogue: Catalogue, group: str) -> bool:
    """Return whether a group is Azure's, known or misspelt; other groups are
    skipped.
    """
    return group in catalogue.groups() or "azure" in group.casefold()


def _with_namespace(obj: JsonObject) -> JsonObject:
    meta = metadata(obj)
    return {
        **obj,
        "metadata": {**meta, "namespace": meta.get("namespace") or "default"},
    }


def _label(manifest: Manifest) -> str:
    kind, name = manifest.obj.get("kind"), key_of(manifest.obj).name
    return f"{manifest.where}: {kind} {name}".rstrip()

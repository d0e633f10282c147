"""The rights that the shipped roles give to the operator. Pure.

`deploy/rbac.yaml` has the same rights; a test compares them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.controllers.diagnosis.finding import CheckSubject, Finding
from asoreconcile.base.objects import JsonObject

_RIGHTS = CheckSubject("rights")

_SHOWN = 5


@attrs.frozen
class Right:
    """A question to the API server. namespace, name: "" means any."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        below = f"/{self.subresource}" if self.subresource else ""
        place = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {resource}{below}{place}"

    def attributes(self) -> JsonObject:
        """Return the `resourceAttributes` of an access review, without empty
        members.
        """
        return {name: value for name, value in attrs.asdict(self).items() if value}


def operator_rights(
    served: Iterable[KindVersion],
    *,
    namespace: str,
    targets: Sequence[str] = (),
    lease: str = "",
    writes_crds: bool = False,
) -> Iterator[Right]:
    """Yield the rights that an operator needs for the kinds that the cluster serves.

    namespace: its own.
    targets: the namespaces that it works in; () for all.
    lease: the name of the leader election's lease, "" without one.
    writes_crds: true if it installs CRDs, or writes the caBundle of its webhooks.
    """
    kinds = list(served)
    for place in targets or ("",):
        for resource in ("secrets", "configmaps"):
            for verb in ("get", "list", "watch", "create", "patch"):
                yield Right(verb, "", resource, namespace=place)
        for verb in ("create", "patch"):
            yield Right(verb, "", "events", namespace=place)
        for version in kinds:
            one = version.gvk.group, version.plural
            for verb in ("get", "list", "watch", "patch"):
                yield Right(verb, *one, namespace=place)
            yield Right("patch", *one, "status", place)
        grants = "gateway.networking.k8s.io", "referencegrants"
        yield Right("list", *grants, namespace=place)
    yield Right("get", "", "namespaces")
    for verb in ("list", "watch"):
        yield Right(verb, "", "namespaces")
        yield Right(verb, "apiextensions.k8s.io", "customresourcedefinitions")
    if lease:
        leases = "coordination.k8s.io", "leases"
        yield Right("create", *leases, namespace=namespace)
        for verb in ("get", "list", "watch", "update"):
            yield Right(verb, *leases, namespace=namespace, name=lease)
    if writes_crds:
        crds = "apiextensions.k8s.io", "customresourcedefinitions"
        yield Right("create", *crds)
        for version in kinds:
            name = f"{version.plural}.{version.gvk.group}"
            yield Right("get", *crds, name=name)
            yield Right("patch", *crds, name=name)
            yield Right("patch", *crds, "status", name=name)


def of_rights(allowed: Mapping[Right, bool], who: str) -> Iterator[Finding]:
    """Check the rights. allowed: the API server's answers."""
    lacking = sorted({str(right) for right, answer in allowed.items() if not answer})
    if lacking:
        yield _RIGHTS.error(
            f"{who} may not {', '.join(lacking[:_SHOWN])}"
            + (f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""),
            "apply deploy/rbac.yaml (by Helm: upgrade the release), and look at the "
            "bindings",
        )
    elif allowed:
        yield _RIGHTS.ok(f"{who} may do what the operator does")

"""ValidatingAdmissionPolicies: those that match a write, by which bindings. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject, metadata, spec
from asoreconcile.testing.kube.admission.webhooks import AdmissionWrite, wanted
from asoreconcile.testing.kube.kinds.resources import RestResource
from asoreconcile.testing.kube.wire.status import StatusError

_CODES = {"Invalid": 422, "Forbidden": 403, "RequestEntityTooLarge": 413}


@attrs.frozen
class Bound:
    """A policy that applies to a write.

    version: the version at which the policy sees the object.
    """

    policy: JsonObject = attrs.field(repr=False)
    name: str
    binding: str
    actions: Sequence[str]
    version: RestResource

    def denied(self, write: AdmissionWrite, why: str, reason: str) -> StatusError:
        """Return the refusal of a write, with kube-apiserver's wording and code.

        reason: one of the reasons that a validation may name: `Invalid`, `Forbidden`,
        ...
        """
        resource = write.resource
        full = f"{resource.plural}.{resource.group}".rstrip(".")
        message = f"{self._who} denied request: {why}"
        details: JsonObject = {"name": write.name, "kind": resource.plural}
        if resource.group:
            details["group"] = resource.group
        return StatusError(
            _CODES[reason],
            reason,
            f'{full} "{write.name}" is forbidden: {message}',
            details={**details, "causes": [{"message": message}]},
        )

    def warning(self, why: str) -> str:
        """Return the text of the Warning header, if the binding warns instead of
        refusing.
        """
        return f"Validation failed for {self._who}: {why}"

    @property
    def _who(self) -> str:
        return f"ValidatingAdmissionPolicy '{self.name}' with binding '{self.binding}'"


def bound(
    policies: Sequence[JsonObject],
    bindings: Sequence[JsonObject],
    write: AdmissionWrite,
    namespace: JsonObject | None,
) -> Iterator[Bound]:
    """Yield the policies that apply to a write, ordered by the names of
    their bindings.
    """
    by_name = {metadata(policy)["name"]: policy for policy in policies}
    for binding in bindings:
        stated = spec(binding)
        policy = by_name.get(stated.get("policyName"))
        if policy is None:
            continue
        version = _version(spec(policy)["matchConstraints"], write, namespace)
        match = stated.get("matchResources")
        if version is None or (
            match is not None and _version(match, write, namespace) is None
        ):
            continue
        yield Bound(
            policy,
            metadata(policy)["name"],
            metadata(binding)["name"],
            stated.get("validationActions") or (),
            version,
        )


def _version(
    match: Mapping[str, Any], write: AdmissionWrite, namespace: JsonObject | None
) -> RestResource | None:
    """Return the version at which a policy matches, or None. Without rules it matches
    all.
    """
    everything = {
        name: ["*"] for name in ("operations", "apiGroups", "apiVersions")
    } | {"resources": ["*", "*/*"]}
    rules = match.get("resourceRules")
    named = [rule for rule in rules or [everything] if _has_name(rule, write)]
    excluded = [
        r for r in match.get("excludeResourceRules") or () if _has_name(r, write)
    ]
    if excluded and wanted({**match, "rules": excluded}, write, namespace) is not None:
        return None
    return wanted({**match, "rules": named}, write, namespace)


def _has_name(rule: Mapping[str, Any], write: AdmissionWrite) -> bool:
    names = rule.get("resourceNames")
    return not names or write.name in names

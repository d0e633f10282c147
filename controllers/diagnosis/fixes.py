"""The repairs that `asoctl doctor --fix NAME` makes. Each is safe, and may be repeated.

A repair is safe if an operator would make it or undo it by itself: nothing is deleted,
no permission is granted, and no Azure resource is changed. Each repair reads its object
again, and does nothing if that has changed since the finding.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from asoreconcile.azure.controllers.crd_cleanup import cleaned_crd
from asoreconcile.azure.controllers.diagnosis.finding import (
    DROP_STORED_VERSIONS,
    REMOVE_CA_BUNDLE,
    RESTART_OPERATOR,
    Finding,
)
from asoreconcile.azure.controllers.diagnosis.webhook_checks import ends_of_bundle
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import ObjectKey, dig, resource_version
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS

_BUNDLE = "spec.conversion.webhook.clientConfig.caBundle"
# kubectl's, so that `kubectl rollout history` knows it.
_RESTARTED = "kubectl.kubernetes.io/restartedAt"


class FixError(AsoreconcileError):
    """The repair failed; the message says why."""


def described(finding: Finding) -> str:
    """Describe the repair of a finding in words. Raises KeyError if there is none."""
    return _WORDS[finding.fix].format(finding.target)


def mend(client: KubeClient, finding: Finding, *, now: datetime) -> str:
    """Make the repair, and return a description of it. Blocking.

    Raises FixError, ApiError (also for a conflict with another writer), TransportError.
    """
    return _FIXES[finding.fix](client, finding.target, now)


def _drop_stored_versions(client: KubeClient, name: str, now: datetime) -> str:
    live = client.get(CUSTOM_RESOURCE_DEFINITIONS, ObjectKey("", name))
    done = cleaned_crd(client, live, now=now, dry_run=False)
    if done.problem:
        raise FixError(done.problem)
    return f"{done.objects} objects stored in {done.stored}"


def _remove_ca_bundle(client: KubeClient, name: str, now: datetime) -> str:
    key = ObjectKey("", name)
    live = client.get(CUSTOM_RESOURCE_DEFINITIONS, key)
    ends = ends_of_bundle(str(dig(live, _BUNDLE) or ""))
    if ends is not None and ends > now:
        return "it has a valid one by now"
    clearing: Any = None
    for part in reversed(_BUNDLE.split(".")):
        clearing = {part: clearing}
    clearing["metadata"] = {"resourceVersion": resource_version(live)}
    client.patch(CUSTOM_RESOURCE_DEFINITIONS, key, clearing)
    return "removed: the operator writes its own within a minute"


def _restart_operator(client: KubeClient, name: str, now: datetime) -> str:
    namespace, _, deployment = name.partition("/")
    noted = {"metadata": {"annotations": {_RESTARTED: now.isoformat()}}}
    change = {"spec": {"template": noted}}
    client.patch(DEPLOYMENTS, ObjectKey(namespace, deployment), change)
    return "a rollout has begun; what was under way goes on after it"


_WORDS: Mapping[str, str] = {
    DROP_STORED_VERSIONS: "write each object of {} once, unchanged, and drop the old "
    "versions from its status",
    REMOVE_CA_BUNDLE: "remove the unusable authority from the conversion of {}",
    RESTART_OPERATOR: "restart the pods of {}, as `kubectl rollout restart` does",
}
_FIXES: Mapping[str, Callable[[KubeClient, str, datetime], str]] = {
    DROP_STORED_VERSIONS: _drop_stored_versions,
    REMOVE_CA_BUNDLE: _remove_ca_bundle,
    RESTART_OPERATOR: _restart_operator,
}
FIXES = tuple(sorted(_FIXES))
"""The names of all repairs."""

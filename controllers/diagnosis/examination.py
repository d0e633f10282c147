"""Runs the checks: reads what each needs; what may not be read is a finding, too."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime

import attrs

from asoreconcile.arm.client import ArmClient
from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.arm.errors import ArmError, ArmTransportError
from asoreconcile.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.controllers.diagnosis import checks
from asoreconcile.controllers.diagnosis.finding import (
    Finding,
    error,
    ok,
    unknown,
)
from asoreconcile.controllers.discovery import discover
from asoreconcile.controllers.kind_registry import resource_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ForbiddenError, NotFoundError
from asoreconcile.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    LEASES,
    SECRETS,
    ApiResource,
)
from asoreconcile.kube.selection import Selection
from asoreconcile.objects import JsonObject, ObjectKey, spec

DEPLOYMENTS = ApiResource("apps", "v1", "deployments", "Deployment")
PODS = ApiResource("", "v1", "pods", "Pod")
_REVIEWS = ApiResource(
    "authorization.k8s.io",
    "v1",
    "subjectaccessreviews",
    "SubjectAccessReview",
    namespaced=False,
)
_SUBSCRIPTIONS_VERSION = "2022-12-01"
_CORE_RIGHTS = (
    ("list", SECRETS),
    ("patch", SECRETS),
    ("create", ApiResource("", "v1", "events", "Event")),
    ("list", ApiResource("", "v1", "configmaps", "ConfigMap")),
)


@attrs.frozen
class Installation:
    """Where an operator is, by the names that its manifests have."""

    namespace: str = "azureserviceoperator-system"
    deployment: str = "azureserviceoperator-controller-manager"
    service_account: str = "azureserviceoperator-default"
    settings: str = "aso-controller-settings"
    lease: str = "controllers-leader-election-azinfra-generated"


class Examination:
    """One look at an installation. Blocking; for one thread.

    sign_in: makes a client of ARM with the identity that is to be tried, or None to
    leave Azure out.
    """

    def __init__(
        self,
        client: KubeClient,
        catalogue: Catalogue,
        *,
        installation: Installation,
        sign_in: Callable[[], AbstractContextManager[ArmClient]] | None,
        now: datetime,
    ) -> None:
        self._client = client
        self._catalogue = catalogue
        self._at = installation
        self._sign_in = sign_in
        self._now = now

    def findings(self) -> Iterator[Finding]:
        """One after the other, as the checks end. Raises TransportError where the
        cluster does not answer at all; all else is a finding.
        """
        for check, look in (
            ("cluster", self._cluster),
            ("operator", self._operator),
            ("settings", self._settings),
            ("leader", self._leader),
            ("kinds", self._kinds),
            ("objects", self._objects),
            ("rights", self._rights),
            ("Azure", self._azure),
        ):
            try:
                yield from look()
            except ForbiddenError as refused:
                yield unknown(
                    check, str(refused), "look again as somebody who may read this"
                )

    def _cluster(self) -> Iterator[Finding]:
        version = self._client.read("/version", accept="application/json")
        yield ok("cluster", f"Kubernetes {version.get('gitVersion', '')} answers")

    def _operator(self) -> Iterator[Finding]:
        deployment = self._get(DEPLOYMENTS, self._at.deployment)
        yield from checks.of_deployment(
            deployment, f"{self._at.namespace}/{self._at.deployment}"
        )
        if deployment is not None:
            labels = (spec(deployment).get("selector") or {}).get("matchLabels") or {}
            selector = ",".join(f"{name}={value}" for name, value in labels.items())
            pods = Selection(
                PODS, namespace=self._at.namespace, label_selector=selector
            )
            yield from checks.of_pods([*self._client.list_all(pods)])

    def _settings(self) -> Iterator[Finding]:
        secret = self._get(SECRETS, self._at.settings)
        yield from checks.of_settings(
            secret, f"{self._at.namespace}/{self._at.settings}"
        )

    def _leader(self) -> Iterator[Finding]:
        lease = self._get(LEASES, self._at.lease)
        name = f"{self._at.namespace}/{self._at.lease}"
        yield from checks.of_lease(lease, name, self._now)

    def _kinds(self) -> Iterator[Finding]:
        crds = [*self._client.list_all(CUSTOM_RESOURCE_DEFINITIONS)]
        yield from checks.of_crds(crds, self._catalogue)
        yield from checks.of_webhook_authorities(crds, self._now)

    def _objects(self) -> Iterator[Finding]:
        objects: list[JsonObject] = []
        for version in self._served():
            objects += self._client.list_all(resource_of(version))
        yield from checks.of_objects(objects, self._now)

    def _rights(self) -> Iterator[Finding]:
        account = self._at.service_account
        deployment = self._get(DEPLOYMENTS, self._at.deployment)
        if deployment is not None:
            template = spec(deployment).get("template") or {}
            account = spec(template).get("serviceAccountName") or account
        who = f"system:serviceaccount:{self._at.namespace}:{account}"
        asked = [*_CORE_RIGHTS]
        for version in self._served():
            asked += [("patch", resource_of(version)), ("list", resource_of(version))]
        yield from checks.of_rights(self._allowed(who, asked), who)

    def _azure(self) -> Iterator[Finding]:
        if self._sign_in is None:
            return
        try:
            with self._sign_in() as client:
                path = "/subscriptions"
                found = [*client.list(path, _SUBSCRIPTIONS_VERSION)]
        except (ArmError, ArmTransportError, ConditionError) as failed:
            yield error(
                "Azure",
                str(failed),
                "look at the identity's secret, the proxy and the endpoint's address",
            )
            return
        yield ok("Azure", f"signed in here; {len(found)} subscriptions can be read")

    def _served(self) -> Iterable[KindVersion]:
        versions = discover(self._client, self._catalogue, converts=True).versions
        # At a version that people write, whatever form the cluster keeps.
        return [self._catalogue.version(one.gvk) for one in versions.values()]

    def _allowed(
        self, who: str, asked: Iterable[tuple[str, ApiResource]]
    ) -> Mapping[str, bool]:
        answers = {}
        for verb, resource in asked:
            attributes = {
                "verb": verb,
                "group": resource.group,
                "resource": resource.plural,
            }
            body = {"spec": {"user": who, "resourceAttributes": attributes}}
            review = self._client.create(_REVIEWS, body)
            allowed = (review.get("status") or {}).get("allowed") is True
            answers[f"{verb} {resource.full_name}"] = allowed
        return answers

    def _get(self, resource: ApiResource, name: str) -> JsonObject | None:
        try:
            return self._client.get(resource, ObjectKey(self._at.namespace, name))
        except NotFoundError:
            return None

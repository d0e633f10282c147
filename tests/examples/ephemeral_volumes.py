"""What kopf's tutorial makes: a claim of a volume for each EphemeralVolumeClaim.

The function is the tutorial's (a PersistentVolumeClaim of the size that is asked for; a
other size and other labels are passed on; it goes with its owner); the code is ours.
"""

import sys
from typing import Annotated

import attrs

from asoreconcile import (
    PERSISTENT_VOLUME_CLAIMS,
    Application,
    JsonObject,
    ObjectMeta,
    PrinterColumn,
    Schema,
    log,
    resource,
    to_dict,
)


@attrs.define
class EphemeralVolumeClaimSpec:
    size: Annotated[
        str, "As 1Gi.", Schema(pattern=r"^[1-9][0-9]*([KMGTP]i?)?$", example="1Gi")
    ]


@attrs.define
class EphemeralVolumeClaimStatus:
    claim: str = ""


@resource(
    "kopf.example.com/v1",
    plural="ephemeralvolumeclaims",
    short_names=["evc"],
    columns=[PrinterColumn("Size", ".spec.size")],
)
@attrs.define
class EphemeralVolumeClaim:
    """A volume for as long as this object is there."""

    metadata: ObjectMeta
    spec: EphemeralVolumeClaimSpec
    status: EphemeralVolumeClaimStatus = attrs.field(factory=EphemeralVolumeClaimStatus)


class EphemeralVolumes:
    def __init__(self, app: Application) -> None:
        self.app = app

    def reconcile(self, owner: EphemeralVolumeClaim) -> None:
        if owner.metadata.is_deleting:
            return
        self.app.apply(to_dict(owner), claim(owner), resource=PERSISTENT_VOLUME_CLAIMS)

        def report(obj: EphemeralVolumeClaim) -> None:
            obj.status.claim = owner.metadata.name

        self.app.cached.update(owner, report)


def claim(owner: EphemeralVolumeClaim) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": owner.metadata.name,
            "namespace": owner.metadata.namespace,
            "labels": owner.metadata.labels,
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": owner.spec.size}},
        },
    }


def application(kubeconfig: str | None = None) -> Application:
    app = Application("ephemeral-volumes", cluster=kubeconfig)
    app.install_crds(EphemeralVolumeClaim)
    volumes = EphemeralVolumes(app)
    app.reconcile(EphemeralVolumeClaim, volumes.reconcile).owns(
        PERSISTENT_VOLUME_CLAIMS
    )
    return app


if __name__ == "__main__":
    log.configure(json=True)
    sys.exit(application().run())

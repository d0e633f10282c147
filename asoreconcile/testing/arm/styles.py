"""How providers answer writes: one style each, as counted in recorded traffic.

Rules: arm-contract section 11, W1-W6. A type may differ from its provider.
"""

from typing import Literal

import attrs

Monitor = Literal["async", "location", "self"]


@attrs.frozen
class Style:
    """create, update, delete: statuses. monitors, delete_monitors: which headers name
    the operation; () answers at once. body: what a create shows. has_state: whether
    bodies hold a provisioningState. is_slow, slow_updates: whether writes begin an
    operation, and whether those of what exists do. busy_state: its word while an
    operation runs. retry_after, delete_retry_after: seconds, None sends none. signed:
    whether each poll signs the monitor anew (W10).
    """

    create: int = 201
    update: int = 200
    monitors: tuple[Monitor, ...] = ("async",)
    body: Literal["resource", "operation", "empty"] = "resource"
    retry_after: int | None = None
    has_state: bool = True
    busy_state: str = "Creating"
    is_slow: bool = True
    slow_updates: bool = True
    delete: int = 202
    delete_monitors: tuple[Monitor, ...] = ("async", "location")
    delete_retry_after: int | None = None
    signed: bool = False


_SYNC = Style(monitors=(), is_slow=False, delete=200, delete_monitors=())
_PLAIN = attrs.evolve(_SYNC, has_state=False)
_STATE_ONLY = Style(monitors=(), create=200, delete=200, delete_monitors=())
_OPERATION_BODY = Style(
    create=202,
    update=202,
    monitors=("async", "location"),
    body="operation",
    retry_after=15,
    delete_retry_after=15,
)

_PROVIDERS: dict[str, Style] = {
    "microsoft.network": Style(
        busy_state="Updating", retry_after=3, delete_retry_after=10
    ),
    "microsoft.resources": attrs.evolve(
        _SYNC,
        delete=202,
        delete_monitors=("location",),
        delete_retry_after=15,
        signed=True,
    ),
    "microsoft.storage": attrs.evolve(_PLAIN, create=200),
    "microsoft.apimanagement": _PLAIN,
    "microsoft.managedidentity": _PLAIN,
    "microsoft.dbforpostgresql": attrs.evolve(_OPERATION_BODY, retry_after=60),
    "microsoft.dbformysql": attrs.evolve(_OPERATION_BODY, retry_after=60),
    "microsoft.dbformariadb": _OPERATION_BODY,
    "microsoft.sql": _OPERATION_BODY,
    "microsoft.documentdb": attrs.evolve(
        _OPERATION_BODY, retry_after=None, delete_retry_after=None, signed=True
    ),
    "microsoft.compute": Style(
        busy_state="Updating", retry_after=10, delete_retry_after=10
    ),
    "microsoft.insights": _PLAIN,
    "microsoft.authorization": _PLAIN,
    "microsoft.servicebus": _PLAIN,
    "microsoft.eventhub": _PLAIN,
    "microsoft.cache": Style(monitors=("async", "location")),
    "microsoft.app": Style(busy_state="InProgress", retry_after=15),
    "microsoft.keyvault": attrs.evolve(_STATE_ONLY, busy_state="RegisteringDns"),
    "microsoft.eventgrid": Style(retry_after=10),
    "microsoft.web": _PLAIN,
    "microsoft.dataprotection": Style(retry_after=10),
    "microsoft.appconfiguration": Style(retry_after=10),
    "microsoft.kubernetesconfiguration": Style(
        monitors=("async", "location"), delete_monitors=("async",)
    ),
    "microsoft.signalrservice": Style(monitors=("async", "location")),
    "microsoft.operationalinsights": Style(
        monitors=("async", "location"), retry_after=20
    ),
    "microsoft.containerregistry": Style(retry_after=10),
    "microsoft.batch": Style(
        create=202,
        monitors=("location",),
        body="empty",
        retry_after=15,
        delete_monitors=("location",),
        delete_retry_after=15,
    ),
    "microsoft.search": attrs.evolve(_STATE_ONLY, busy_state="provisioning"),
    "microsoft.datafactory": _PLAIN,
    "microsoft.synapse": Style(monitors=("async", "location")),
    "microsoft.alertsmanagement": attrs.evolve(_PLAIN, monitors=("self",)),
    "microsoft.notificationhubs": _PLAIN,
}

_NAMESPACE = Style(monitors=(), busy_state="Created")
_TYPES: dict[str, Style] = {
    "microsoft.storage/storageaccounts": Style(
        create=202,
        monitors=("location",),
        body="empty",
        retry_after=17,
        slow_updates=False,
        delete=200,
        delete_monitors=(),
        signed=True,
    ),
    "microsoft.managedidentity/userassignedidentities": attrs.evolve(
        _PLAIN, monitors=("self",)
    ),
    "microsoft.eventhub/namespaces": _NAMESPACE,
    "microsoft.servicebus/namespaces": _NAMESPACE,
    "microsoft.apimanagement/service": Style(
        monitors=("async", "location"), retry_after=20
    ),
    "microsoft.network/privateendpoints/privatednszonegroups": Style(
        busy_state="Updating", retry_after=3, delete_retry_after=10
    ),
}
_DEFAULT = Style()


def style_of(type_: str) -> Style:
    """The style of a resource type in lower case."""
    namespace = type_.partition("/")[0]
    return _TYPES.get(type_) or _PROVIDERS.get(namespace) or _DEFAULT

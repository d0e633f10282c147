"""The style of each type: the recorded one, or the one that a test sets.

azure.styles.change("Microsoft.Sql/servers", words=("Pending", "InProgress"))
"""

from typing import Any

import attrs

from asoreconcile.testing.arm.recorded import ROWS
from asoreconcile.testing.arm.style import MonitorStyle, Style

# ARM's contract asks this of providers. It holds for types without a recording.
_DEFAULT_ROW = ("201 A Creating", "200 A Updating", "202 A+L")
_LOWER_GROUPS = ("resourcegroups",)
_REDIS = ("Redis",)
_CDN = (
    *_LOWER_GROUPS,
    "afdendpoints",
    "customdomains",
    "origingroups",
    "rulesets",
    "securitypolicies",
)

# Further fields of a provider, or of a type and everything below it. If two rows match,
# the fields of the later one take precedence.
_HABITS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "network",
        {"etag": "weak", "etag_in_body": True, "etag_in_header": "reads"},
    ),
    *(
        (f"network/{type_}", {"etag_in_header": "never"})
        for type_ in (
            "dnsforwardingrulesets",
            "dnsresolvers",
            "networkwatchers/flowlogs",
            "virtualnetworkgateways",
        )
    ),
    *(
        (f"network/{type_}", {"orphan": "ResourceNotFound"})
        for type_ in (
            "firewallpolicies",
            "loadbalancers",
            "networksecuritygroups",
            "privateendpoints",
            "routetables",
            "virtualnetworks",
        )
    ),
    (
        "network/privatednszones",
        {"etag": "bare", "etag_in_header": "always", "report": "id"},
    ),
    ("network/privatednszones/virtualnetworklinks", {"etag": "strong"}),
    (
        "network/dnszones",
        {"etag": "bare", "etag_in_header": "always", "casing": ("dnszones",)},
    ),
    ("network/trafficmanagerprofiles", {"casing": ("trafficManagerProfiles",)}),
    (
        "network/frontdoorwebapplicationfirewallpolicies",
        {"casing": (*_LOWER_GROUPS, "frontdoorwebapplicationfirewallpolicies")},
    ),
    (
        "resources",
        {
            "monitors": MonitorStyle(renewed="some", paths=("operationresults",) * 2),
        },
    ),
    (
        "storage/storageaccounts",
        {"monitors": MonitorStyle(renewed="each", paths=("asyncoperations",) * 2)},
    ),
    (
        "dbforpostgresql",
        {
            "monitors": MonitorStyle(paths=("azureAsyncOperation", "operationResults")),
            "report": "name",
            "orphan": "ResourceNotFound",
        },
    ),
    ("dbforpostgresql/flexibleservers/virtualendpoints", {"keeps_failed": False}),
    (
        "dbformysql",
        {
            "monitors": MonitorStyle(paths=("azureAsyncOperation", "operationResults")),
            "report": "name",
            "orphan": "ResourceNotFound",
        },
    ),
    ("sql", {"report": "name", "words": ("Pending", "InProgress")}),
    ("sql/servers/outboundfirewallrules", {"done": "Ready"}),
    (
        "documentdb",
        {
            "monitors": MonitorStyle(paths=("operationsStatus", "operationResults")),
            "words": ("Enqueued", "Dequeued"),
            "envelope": "bare",
            "orphan": "ResourceNotFound",
        },
    ),
    (
        "documentdb/mongoclusters",
        {
            "monitors": MonitorStyle(
                renewed="each",
                paths=(
                    "mongoClusterAzureAsyncOperation",
                    "mongoClusterOperationResults",
                ),
            ),
            "words": ("InProgress",),
            "report": "id",
            "envelope": "arm",
        },
    ),
    ("compute", {"report": "name", "monitors": MonitorStyle(shared=True)}),
    (
        "containerservice",
        {
            "report": "name",
            "casing": _LOWER_GROUPS,
            "orphan": "ResourceNotFound",
            "envelope": "aks",
        },
    ),
    (
        "containerservice/fleets",
        {"casing": (), "orphan": "ParentResourceNotFound", "envelope": "arm"},
    ),
    (
        "containerservice/managedclusters/agentpools",
        {"absent": "NotFound", "words": ("Creating", "InProgress")},
    ),
    ("managedidentity", {"casing": _LOWER_GROUPS}),
    (
        "cache",
        {
            "monitors": MonitorStyle(
                renewed="each", paths=("asyncOperations", "operationresults")
            ),
            "report": "id",
            "casing": _REDIS,
            "orphan": "ResourceNotFound",
        },
    ),
    (
        "cache/redisenterprise",
        {"casing": (), "absent": "ResourceNotFound", "envelope": "arm"},
    ),
    (
        "cache/redisenterprise/databases/accesspolicyassignments",
        {"absent": "NotFound", "envelope": "problem"},
    ),
    (
        "cdn",
        {
            "monitors": MonitorStyle(
                place="group",
                paths=("operationresults", "operationresults/{id}/results/{name}"),
            ),
            "report": "error",
            "casing": _CDN,
        },
    ),
    (
        "communication",
        {
            "monitors": MonitorStyle(
                poll_status=202, paths=("operationStatuses", "operationResults")
            ),
            "report": "id",
            "words": ("Running",),
        },
    ),
    ("insights", {"casing": ("microsoft.insights",)}),
    *(
        (
            type_,
            {"etag": "strong", "etag_in_body": True, "etag_in_header": "never"},
        )
        for type_ in (
            "insights/components",
            "insights/datacollectionendpoints",
            "insights/datacollectionruleassociations",
            "insights/datacollectionrules",
            "insights/webtests",
            "insights/workbooks",
            "operationalinsights/workspaces",
        )
    ),
    ("cognitiveservices", {"etag": "strong", "etag_in_body": True}),
    ("communication", {"etag": "strong"}),
    ("storage/storageaccounts/blobservices/containers", {"etag": "strong"}),
    ("web/sites", {"etag": "bare"}),
    (
        "insights/actiongroups",
        {"casing": ("microsoft.insights",), "shouts_subscription": True},
    ),
    (
        "insights/scheduledqueryrules",
        {"casing": ("microsoft.insights", "scheduledqueryrules")},
    ),
    ("apimanagement", {"etag": "strong"}),
    ("apimanagement/service", {"monitors": MonitorStyle(place="query")}),
    ("apimanagement/service/products", {"delete_needs_match": True}),
    ("apimanagement/service/products/apis", {"readable": False}),
    ("apimanagement/service/products/groups", {"readable": False}),
    ("appconfiguration", {"monitors": MonitorStyle(shared=True)}),
    (
        "kubernetesconfiguration",
        {"monitors": MonitorStyle(place="resource"), "report": "id"},
    ),
    ("signalrservice", {"casing": ("SignalR",), "report": "id"}),
    ("signalrservice", {"monitors": MonitorStyle(place="resource")}),
    ("synapse", {"monitors": MonitorStyle(place="resource")}),
    ("dataprotection", {"report": "id", "absent": "UserErrorGenericResourceNotFound"}),
    (
        "containerregistry",
        {
            "monitors": MonitorStyle(place="resource", renewed="each"),
            "words": ("Creating",),
        },
    ),
    ("eventgrid", {"report": "id"}),
    ("eventhub/namespaces", {"absent": "NamespaceNotFound", "words": ("Running",)}),
    ("web", {"envelope": "web"}),
    ("web/sites/sourcecontrols", {"etag": "strong"}),
    ("search", {"etag": "weak", "done": "succeeded"}),
    ("devices", {"envelope": "numbered"}),
    (
        "authorization/roleassignments",
        {"absent": "RoleAssignmentNotFound"},
    ),
    (
        "authorization/roledefinitions",
        {
            "other_id": "/subscriptions/{subscription}/providers"
            "/Microsoft.Authorization/roleDefinitions/{name}"
        },
    ),
    (
        "quota/quotas",
        {"other_id": "{scope}/providers/Microsoft.Quota/quotaRequests/{made_up}"},
    ),
)


class Styles:
    """The styles of one server, by type in any casing. Assign to one to change it."""

    def __init__(self) -> None:
        self._own: dict[str, Style] = {}
        self._known: dict[str, Style] = {}

    def __getitem__(self, type_: str) -> Style:
        key = type_.lower()
        if key not in self._known:
            self._known[key] = _style(key.removeprefix("microsoft."))
        return self._own.get(key) or self._known[key]

    def __setitem__(self, type_: str, style: Style) -> None:
        self._own[type_.lower()] = style

    def change(self, type_: str, **fields: Any) -> None:
        """Change fields of a type's style.

        fields: fields of `Style`, or of its `MonitorStyle`.
        """
        self[type_] = attrs.evolve(self[type_], **fields)


def _style(type_: str) -> Style:
    create, update, delete = _rows(type_)
    style = Style(create, update, delete)
    states = (style.create.state, style.update.state)
    style = attrs.evolve(style, done="Succeeded" if any(states) else "")
    for prefix, fields in _HABITS:
        if type_ == prefix or type_.startswith(prefix + "/"):
            style = attrs.evolve(style, **fields)
    return style


def _rows(type_: str) -> tuple[str, str, str]:
    """Return the answers of the type's row, else of its siblings, else of
    its provider.
    """
    for key in (type_, f"{type_.rpartition('/')[0]}/*", type_.partition("/")[0]):
        if key in _RECORDED:
            return _RECORDED[key]
    return _DEFAULT_ROW


def _parsed(text: str) -> dict[str, tuple[str, str, str]]:
    rows = {}
    for line in text.splitlines():
        if line:
            type_, create, update, delete = (part.strip() for part in line.split("|"))
            rows[type_] = (create, update, delete)
    return rows


_RECORDED = _parsed(ROWS)

"""The fields of the built-in kinds: their names, types and protobuf numbers.

These facts of the Kubernetes API serve to decode protobuf bodies and to find unknown
fields. A type is a scalar, another message's name, `[]` of either, or a map.
"""

from asoreconcile.base.objects import JsonObject

Fields = dict[int, tuple[str, str]]


def _fields(*rows: str) -> Fields:
    """Return fields from rows of `number name type`."""
    split = (row.split() for row in rows)
    return {int(number): (name, sort) for number, name, sort in split}


_META = "1 metadata ObjectMeta"
MESSAGES: dict[str, Fields] = {
    "ObjectMeta": _fields(
        "1 name string",
        "2 generateName string",
        "3 namespace string",
        "4 selfLink string",
        "5 uid string",
        "6 resourceVersion string",
        "7 generation int",
        "8 creationTimestamp time",
        "9 deletionTimestamp time",
        "10 deletionGracePeriodSeconds int",
        "11 labels map:string",
        "12 annotations map:string",
        "13 ownerReferences []OwnerReference",
        "14 finalizers []string",
        "17 managedFields []ManagedFieldsEntry",
    ),
    "OwnerReference": _fields(
        "1 kind string",
        "3 name string",
        "4 uid string",
        "5 apiVersion string",
        "6 controller bool",
        "7 blockOwnerDeletion bool",
    ),
    "ManagedFieldsEntry": _fields(
        "1 manager string",
        "2 operation string",
        "3 apiVersion string",
        "4 time time",
        "6 fieldsType string",
        "7 fieldsV1 json",
        "8 subresource string",
    ),
    "Namespace": _fields(_META, "2 spec NamespaceSpec", "3 status NamespaceStatus"),
    "NamespaceSpec": _fields("1 finalizers []string"),
    "NamespaceStatus": _fields("1 phase string", "2 conditions []Condition"),
    "Condition": _fields(
        "1 type string",
        "2 status string",
        "4 lastTransitionTime time",
        "5 reason string",
        "6 message string",
    ),
    "Secret": _fields(
        _META,
        "2 data map:bytes",
        "3 type string",
        "4 stringData map:string",
        "5 immutable bool",
    ),
    "ConfigMap": _fields(
        _META, "2 data map:string", "3 binaryData map:bytes", "4 immutable bool"
    ),
    "ServiceAccount": _fields(
        _META,
        "2 secrets []ObjectReference",
        "3 imagePullSecrets []LocalObjectReference",
        "4 automountServiceAccountToken bool",
    ),
    "LocalObjectReference": _fields("1 name string"),
    "ObjectReference": _fields(
        "1 kind string",
        "2 namespace string",
        "3 name string",
        "4 uid string",
        "5 apiVersion string",
        "6 resourceVersion string",
        "7 fieldPath string",
    ),
    "Lease": _fields(_META, "2 spec LeaseSpec"),
    "LeaseSpec": _fields(
        "1 holderIdentity string",
        "2 leaseDurationSeconds int",
        "3 acquireTime microtime",
        "4 renewTime microtime",
        "5 leaseTransitions int",
        "6 strategy string",
        "7 preferredHolder string",
    ),
    "Event": _fields(
        _META,
        "2 involvedObject ObjectReference",
        "3 reason string",
        "4 message string",
        "5 source EventSource",
        "6 firstTimestamp time",
        "7 lastTimestamp time",
        "8 count int",
        "9 type string",
        "10 eventTime microtime",
        "11 series EventSeries",
        "12 action string",
        "13 related ObjectReference",
        "14 reportingComponent string",
        "15 reportingInstance string",
    ),
    "events.k8s.io/Event": _fields(
        _META,
        "2 eventTime microtime",
        "3 series EventSeries",
        "4 reportingController string",
        "5 reportingInstance string",
        "6 action string",
        "7 reason string",
        "8 regarding ObjectReference",
        "9 related ObjectReference",
        "10 note string",
        "11 type string",
        "12 deprecatedSource EventSource",
        "13 deprecatedFirstTimestamp time",
        "14 deprecatedLastTimestamp time",
        "15 deprecatedCount int",
    ),
    "EventSource": _fields("1 component string", "2 host string"),
    "EventSeries": _fields("1 count int", "2 lastObservedTime microtime"),
    "DeleteOptions": _fields(
        "1 gracePeriodSeconds int",
        "2 preconditions Preconditions",
        "3 orphanDependents bool",
        "4 propagationPolicy string",
        "5 dryRun []string",
    ),
    "Preconditions": _fields("1 uid string", "2 resourceVersion string"),
    "SelfSubjectAccessReview": _fields(_META, "2 spec AccessReviewSpec"),
    "AccessReviewSpec": _fields(
        "1 resourceAttributes ResourceAttributes",
        "2 nonResourceAttributes NonResourceAttributes",
    ),
    "ResourceAttributes": _fields(
        "1 namespace string",
        "2 verb string",
        "3 group string",
        "4 version string",
        "5 resource string",
        "6 subresource string",
        "7 name string",
    ),
    "NonResourceAttributes": _fields("1 path string", "2 verb string"),
    "SelfSubjectReview": _fields(_META),
    "TokenRequest": _fields(_META, "2 spec TokenRequestSpec"),
    "TokenRequestSpec": _fields(
        "1 audiences []string",
        "3 boundObjectRef BoundObjectReference",
        "4 expirationSeconds int",
    ),
    "BoundObjectReference": _fields(
        "1 kind string", "2 apiVersion string", "3 name string", "4 uid string"
    ),
    "SelfSubjectRulesReview": _fields(_META, "2 spec RulesReviewSpec"),
    "RulesReviewSpec": _fields("1 namespace string"),
    "ClusterRole": _fields(_META, "2 rules []PolicyRule", "3 aggregationRule json"),
    "Role": _fields(_META, "2 rules []PolicyRule"),
    "ClusterRoleBinding": _fields(_META, "2 subjects []Subject", "3 roleRef RoleRef"),
    "RoleBinding": _fields(_META, "2 subjects []Subject", "3 roleRef RoleRef"),
    "PolicyRule": _fields(
        "1 verbs []string",
        "2 apiGroups []string",
        "3 resources []string",
        "4 resourceNames []string",
        "5 nonResourceURLs []string",
    ),
    "Subject": _fields(
        "1 kind string", "2 apiGroup string", "3 name string", "4 namespace string"
    ),
    "RoleRef": _fields("1 apiGroup string", "2 kind string", "3 name string"),
}
_SCALARS: dict[str, JsonObject] = {
    "string": {"type": "string"},
    "bytes": {"type": "string", "format": "byte"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "time": {"type": "string", "format": "date-time", "nullable": True},
    "microtime": {"type": "string", "format": "date-time", "nullable": True},
    "json": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


def schema_of(kind: str) -> JsonObject:
    """Return the OpenAPI schema of a built-in kind, or of a part of one."""
    properties = {name: _part(sort) for name, sort in MESSAGES[kind].values()}
    return {"type": "object", "properties": properties}


def _part(sort: str) -> JsonObject:
    if sort.startswith("[]"):
        return {"type": "array", "items": _part(sort[2:])}
    if sort.startswith("map:"):
        return {"type": "object", "additionalProperties": _part(sort[4:])}
    return _SCALARS.get(sort) or schema_of(sort)

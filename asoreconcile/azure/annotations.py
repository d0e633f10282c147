"""Names that other systems see: annotations, labels, finalizer (wire contract).

They are Azure Service Operator's, to the byte: a
cluster that it ran goes on with us, and the other way round. State of our own is kept
under `asoreconcile/`, which its CRDs cannot prune.
"""

_PREFIX = "serviceoperator.azure.com/"
OWN_PREFIX = "asoreconcile/"

FINALIZER = _PREFIX + "finalizer"

# Annotations that users write.
RECONCILE_POLICY = _PREFIX + "reconcile-policy"
CREDENTIAL_FROM = _PREFIX + "credential-from"

# Annotations that the operator writes.
OPERATOR_NAMESPACE = _PREFIX + "operator-namespace"
RESOURCE_ID = _PREFIX + "resource-id"
LATEST_RECONCILED_GENERATION = _PREFIX + "latest-reconciled-generation"
POLLER_TOKEN = _PREFIX + "poller-resume-token"
POLLER_ID = _PREFIX + "poller-resume-id"
CHILD_ID_OVERRIDE = _PREFIX + "child-resource-id-override"
AZURE_NAME_FROM_CONFIG = _PREFIX + "azure-name-from-config"

# What the running PUT was made of beside the spec: ours alone.
INPUTS = OWN_PREFIX + "inputs"

# What POLLER_ID says: which kind of write the stored operation belongs to.
PUT_POLLER = "GenericClient.CreateOrUpdateByID"
DELETE_POLLER = "GenericClient.DeleteByID"

# Labels that the operator writes.
OWNER_NAME = _PREFIX + "owner-name"
OWNER_GROUP_KIND = _PREFIX + "owner-group-kind"
OWNER_UID = _PREFIX + "owner-uid"
LAST_RECONCILED_VERSION = _PREFIX + "last-reconciled-version"

# Kubernetes' own limit; a longer value has the whole write refused.
_MAX_LABEL_LENGTH = 63


def label_value(text: str) -> str:
    """As much of a name as a label holds. Cut in the middle it may end on what no label
    may end on; a build's number may have a plus.
    """
    return text.replace("+", "-")[:_MAX_LABEL_LENGTH].rstrip("-._")


def is_operators_own(name: str) -> bool:
    """Whether a label or annotation is one that operators write."""
    return name.startswith((_PREFIX, OWN_PREFIX))

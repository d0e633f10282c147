"""Names that other systems see: annotations, labels, finalizer (wire contract).

They are exactly those of Azure Service Operator (ASO), so that a cluster can move from
ASO to this operator, and back. This operator's own state is in annotations under
`asoreconcile/`, which ASO's CRDs cannot prune.
"""

from collections.abc import Mapping

_PREFIX = "serviceoperator.azure.com/"
OWN_PREFIX = "asoreconcile/"

FINALIZER = _PREFIX + "finalizer"

# Annotations that users write; `annotation_table` has a row for each.
RECONCILE_POLICY = _PREFIX + "reconcile-policy"
CREDENTIAL_FROM = _PREFIX + "credential-from"
DELETION_PROTECTION = OWN_PREFIX + "deletion-protection"
PAUSED = OWN_PREFIX + "paused"
MAINTENANCE_WINDOWS = OWN_PREFIX + "maintenance-windows"
SYNC_PERIOD = OWN_PREFIX + "sync-period"
WAIT_FOR_REFERENCES = OWN_PREFIX + "wait-for-references"
RECONCILE_AT = OWN_PREFIX + "reconcile-at"
ALLOW_OWNER_CHANGE = OWN_PREFIX + "allow-owner-change"
FOREIGN_TAGS = OWN_PREFIX + "foreign-tags"
IGNORE_FIELDS = OWN_PREFIX + "ignore-fields"
ON_IMMUTABLE = OWN_PREFIX + "on-immutable"
ROTATE = OWN_PREFIX + "rotate-secrets"
CANCEL_SUBSCRIPTION = OWN_PREFIX + "cancel-subscription"

# Annotations of a Namespace that its administrator writes.
ALLOWED_SCOPES = OWN_PREFIX + "allowed-scopes"
TAKES_OVER = OWN_PREFIX + "takes-over"
DELETES_DECLARED = OWN_PREFIX + "deletes-what-others-declare"
ALLOWED_TYPES = OWN_PREFIX + "allowed-types"
EXPORTS_AS_CREDENTIALS = OWN_PREFIX + "exports-as-credentials"
# Of a Namespace: "true" lets a resource read a Secret that holds a login.
LOGINS_AS_VALUES = OWN_PREFIX + "logins-as-values"

# Annotations that the operator writes.
OPERATOR_NAMESPACE = _PREFIX + "operator-namespace"
RESOURCE_ID = _PREFIX + "resource-id"
LATEST_RECONCILED_GENERATION = _PREFIX + "latest-reconciled-generation"
POLLER_TOKEN = _PREFIX + "poller-resume-token"
POLLER_ID = _PREFIX + "poller-resume-id"
# The operator's mark of the stored token; ASO has none.
POLLER_MARK = OWN_PREFIX + "poller-resume-token-mark"
# All annotations of a running operation.
POLLER_ANNOTATIONS = (POLLER_TOKEN, POLLER_ID, POLLER_MARK)
CHILD_ID_OVERRIDE = _PREFIX + "child-resource-id-override"
AZURE_NAME_FROM_CONFIG = _PREFIX + "azure-name-from-config"


# The object's decision about a resource that existed before it; ASO has no such
# annotation.
EXISTENCE = OWN_PREFIX + "existence"

# The fields of a spec that only observes whose values the webhook has added.
PLACEHOLDERS = OWN_PREFIX + "placeholders"

# The authenticated record of the claimed ARM id (`claim_record`); ASO has none.
CLAIM = OWN_PREFIX + "claim"
# Facts of that claim which earlier versions do not know, bound to it by a mark.
CLAIM_FACTS = OWN_PREFIX + "claim-facts"

# The authenticated state of a resource that is deleted to be made again (`recreation`).
RECREATION = OWN_PREFIX + "recreation"
# The resources that go with it and come back (`recreation_plan`).
RECREATION_PLAN = OWN_PREFIX + "recreation-plan"

# The value of RECONCILE_AT that was handled last; ASO has no such annotation.
RECONCILED_AT = OWN_PREFIX + "reconciled-at"

# The Secret of the object's namespace whose credential was used last. Without this
# Secret no wider credential takes its place.
OWN_CREDENTIAL = OWN_PREFIX + "own-credential"

# Values of POLLER_ID: which kind of write the stored operation belongs to.
PUT_POLLER = "GenericClient.CreateOrUpdateByID"
DELETE_POLLER = "GenericClient.DeleteByID"

# Labels that the operator writes.
OWNER_NAME = _PREFIX + "owner-name"
OWNER_GROUP_KIND = _PREFIX + "owner-group-kind"
OWNER_UID = _PREFIX + "owner-uid"
LAST_RECONCILED_VERSION = _PREFIX + "last-reconciled-version"

# Kubernetes' limit; it refuses the whole write with a longer value.
_MAX_LABEL_LENGTH = 63


def label_value(text: str) -> str:
    """Return a name as a valid label value: cut to length and to an allowed last
    character, and with `-` for the plus of a build number.
    """
    return text.replace("+", "-")[:_MAX_LABEL_LENGTH].rstrip("-._")


def build_label(build: str) -> dict[str, str]:
    """Return the label that records the build of the operator."""
    return {LAST_RECONCILED_VERSION: label_value(build)}


def is_operators_own(name: str) -> bool:
    """Return whether a label or annotation is one that operators write."""
    return name.startswith((_PREFIX, OWN_PREFIX))


def operators_own(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the annotations that operators write or obey."""
    return {
        name: value for name, value in annotations.items() if is_operators_own(name)
    }

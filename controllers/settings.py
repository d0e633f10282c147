"""The operator's settings: ASO's environment variables, all checked at once.

The keys of the `aso-controller-settings` Secret are environment variables of the pod
(operations section 1). An empty value counts as unset. Settings that ASO does not have
begin with `ASORECONCILE_`.
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import attrs

from asoreconcile.azure.arm.credentials import CloudConfig, CredentialSource
from asoreconcile.azure.arm.credentials_federated import TOKEN_FILE
from asoreconcile.azure.arm.credentials_secret import (
    AZURE_HOSTS,
    CLOUD,
    ENTRA_APP_ID,
    SecretRules,
    application_id,
)
from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.controllers.environment import (
    Environment,
    flag,
    header_text,
    https,
    identifier,
    one_of,
    parse_duration,
    rate,
    whole,
)
from asoreconcile.azure.controllers.global_credential import global_credential
from asoreconcile.azure.graph.cloud import SETTING
from asoreconcile.azure.reconcile.model.annotation_row import Annotation
from asoreconcile.azure.reconcile.model.merge_rules import (
    IGNORE_FIELDS_ROW,
    parse_ignored,
)
from asoreconcile.azure.reconcile.model.pace import SYNC_PERIOD_ROW
from asoreconcile.azure.reconcile.model.policy import RECONCILE_POLICY_ROW, Policy
from asoreconcile.azure.reconcile.model.reference_waits import WAIT_FOR_REFERENCES_ROW
from asoreconcile.azure.reconcile.model.switches import Switch
from asoreconcile.azure.reconcile.model.sync_mode import (
    FOREIGN_TAGS_ROW,
    SYNC_MODE_ROW,
    BulkReads,
    ForeignTags,
    SyncMode,
    Undeclared,
)
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind

# The metadata of a field that a setting fills.
_NAME, _PARSE = "name", "parse"
_HOST = re.compile(r"[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class SettingsError(AsoreconcileError):
    """The settings cannot be used; the text has one line per problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class OperatorMode(Enum):
    """The parts of the operator that run in this process (AZURE_OPERATOR_MODE)."""

    WATCHERS = "watchers"
    WEBHOOKS = "webhooks"
    BOTH = "watchers-and-webhooks"

    @property
    def watches(self) -> bool:
        """True if this process reconciles objects."""
        return self is not OperatorMode.WEBHOOKS

    @property
    def answers(self) -> bool:
        """True if this process may serve webhooks and installs CRDs."""
        return self is not OperatorMode.WATCHERS


def _setting(name: str, parse: Callable[[str], Any], default: Any) -> Any:
    """Declare a field, and the setting that fills it. parse: raises ValueError."""
    return attrs.field(default=default, metadata={_NAME: name, _PARSE: parse})


def _choice(name: str, default: Enum) -> Any:
    """Declare a field that is one of an enum's members."""
    return _setting(name, one_of(type(default)), default)


def _default_of(row: Annotation[Any], parse: Callable[[str], Any]) -> Any:
    """Declare a field with the value for objects without an annotation. parse: parses
    the setting; raises ValueError.
    """
    return _setting(row.setting, parse, row.default)


def _read(cls: type, reader: Environment) -> dict[str, Any]:
    """Return the values of a class's declared fields."""
    return {
        field.name: reader.parsed(
            field.metadata[_NAME], field.metadata[_PARSE], field.default
        )
        for field in attrs.fields(cls)
        if _NAME in field.metadata
    }


def _namespaces(text: str) -> tuple[str, ...] | None:
    """Parse names separated by commas. A superfluous comma does not widen the scope."""
    names = _names(text)
    for name in names:
        if not _NAMESPACE.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a namespace")
    if not names:
        raise ValueError("names no namespace: leave it empty to watch every one")
    return names


def _names(text: str) -> tuple[str, ...]:
    """Parse names separated by commas: each once, in order."""
    names = dict.fromkeys(name.strip() for name in text.split(","))
    return tuple(name for name in names if name)


def _is_strict(text: str) -> bool:
    if text.lower() not in ("strict", "relaxed"):
        raise ValueError(f"{text!r} is not one of strict, relaxed")
    return text.lower() == "strict"


def _cloud_hosts(text: str) -> frozenset[str]:
    """Return the hosts in a comma list, with or without ports. Raises ValueError."""
    hosts = [part.strip().lower() for part in text.split(",") if part.strip()]
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise ValueError("must be hosts such as login.example.com, or host:port")
    return frozenset(hosts)


def _sync_period(text: str) -> float | None:
    if text.lower() == "never":
        return None
    seconds = parse_duration(text)
    if seconds <= 0:
        raise ValueError(f"{text!r} is not positive: to switch it off write never")
    return seconds


def _sync_periods(text: str) -> Mapping[GroupKind, float | None]:
    """Parse `KIND.GROUP=PERIOD`, separated by commas."""
    from asoreconcile.azure.controllers.catalogue import builtin
    from asoreconcile.azure.reconcile.model.pace import parse_period

    known = {str(kind.group_kind): kind.group_kind for kind in builtin().kinds()}
    periods = {}
    for pair in _names(text):
        name, _, period = (part.strip() for part in pair.partition("="))
        if name not in known:
            near = hint(name, known)
            raise ValueError(f"{name!r} is no kind: write it as KIND.GROUP{near}")
        periods[known[name]] = parse_period(period)
    return periods


def _mode(text: str) -> OperatorMode:
    # ASO's documentation uses `both`.
    is_both = text.lower() == "both"
    return one_of(OperatorMode)(OperatorMode.BOTH.value if is_both else text)


@attrs.frozen
class RateLimit:
    """A token bucket for all reconciles of the process (D8). qps: per second."""

    qps: float = _setting("RATE_LIMIT_QPS", rate, 5.0)
    bucket_size: int = _setting("RATE_LIMIT_BUCKET_SIZE", whole, 100)


@attrs.frozen
class Settings:
    """The settings that the manager reads from its environment.

    credential: the global credential; if None, objects need their own or their
    namespace's. credentials: rules for credentials in Secrets.
    strict_workload_identity: whether credentials of namespaces sign in with a token of
    their namespace's ServiceAccount.
    sync_period_seconds: period after which a Ready object is reconciled again; None for
    never. sync_periods: periods of single kinds, in place of sync_period_seconds.
    foreign_tags: the treatment of tags that an object never declared. ignore_fields:
    paths of fields that only the first PUT of an object sets.
    force_put_seconds: period after which a resource gets a PUT even without drift, if
    Azure does not show all its values; None for never.
    pod_namespace: the operator's own namespace, which it writes on its objects.
    pod_uid: the uid of the process's pod, "" outside of a pod.
    rate_limit: limit of reconciles; None for no limit.
    target_namespaces: the only ones to watch; None is all. wider_credentials: if true,
    an object whose Secret with a credential is gone uses the global credential.
    hold_credentials: whether a finalizer holds credential Secrets that objects use.
    check_secret_access: whether a Secret that an object names is read only if its last
    author may read it.
    extensions: names of extension sets of other packages to load. graph_endpoint:
    Microsoft Graph's address; "" follows from the cloud.
    entra_app_id: the application for requests to Graph, signed in with the global
    credential's proof; "" is the credential's own.
    mode: parts of the operator that run in this process. With WATCHERS, another process
    serves webhooks and installs CRDs; with WEBHOOKS, this process does only that.
    wants_webhooks: the setting's value names webhooks.
    notices: remarks on these settings for the user, a line each.
    """

    pod_namespace: str
    cloud: CloudConfig
    pod_uid: str = _setting("POD_UID", str, "")
    credential: CredentialSource | None = None
    credentials: SecretRules = attrs.field(factory=SecretRules)
    strict_workload_identity: bool = _setting(
        "AZURE_WORKLOAD_IDENTITY_AUTH_MODE", _is_strict, False
    )
    sync_period_seconds: float | None = _default_of(SYNC_PERIOD_ROW, _sync_period)
    sync_periods: Mapping[GroupKind, float | None] = _setting(
        "ASORECONCILE_SYNC_PERIODS", _sync_periods, {}
    )
    max_concurrent_reconciles: int = _setting("MAX_CONCURRENT_RECONCILES", whole, 4)
    default_policy: Policy = _default_of(
        RECONCILE_POLICY_ROW, one_of(Policy, has_case=True)
    )
    rate_limit: RateLimit | None = None
    sync_mode: SyncMode = _default_of(SYNC_MODE_ROW, one_of(SyncMode))
    undeclared: Undeclared = _choice("ASORECONCILE_UNDECLARED", Undeclared.PUT)
    foreign_tags: ForeignTags = _default_of(FOREIGN_TAGS_ROW, one_of(ForeignTags))
    ignore_fields: str = _default_of(IGNORE_FIELDS_ROW, parse_ignored)
    force_put_seconds: float | None = _setting(
        "ASORECONCILE_FORCE_PUT_PERIOD", _sync_period, None
    )
    bulk_reads: BulkReads = _choice("ASORECONCILE_BULK_READS", BulkReads.LIST)
    wait_for_references: bool = _setting(
        WAIT_FOR_REFERENCES_ROW.setting,
        flag,
        WAIT_FOR_REFERENCES_ROW.default is Switch.ON,
    )
    wider_credentials: bool = _setting("ASORECONCILE_WIDER_CREDENTIALS", flag, False)
    hold_credentials: bool = _setting("ASORECONCILE_HOLD_CREDENTIALS", flag, False)
    check_secret_access: bool = _setting(
        "ASORECONCILE_CHECK_SECRET_ACCESS", flag, False
    )
    user_agent_suffix: str = _setting("AZURE_USER_AGENT_SUFFIX", header_text, "")
    target_namespaces: tuple[str, ...] | None = _setting(
        "AZURE_TARGET_NAMESPACES", _namespaces, None
    )
    extensions: tuple[str, ...] = _setting("ASORECONCILE_EXTENSIONS", _names, ())
    graph_endpoint: str = _setting(SETTING, https, "")
    entra_app_id: str = _setting(ENTRA_APP_ID, application_id, "")
    mode: OperatorMode = OperatorMode.BOTH
    wants_webhooks: bool = False
    notices: tuple[str, ...] = ()


_FURTHER = """
    ALLOW_MULTI_ENV_MANAGEMENT ASORECONCILE_CLOUD_HOSTS AUTH_MODE
    AZURE_ADDITIONAL_TENANTS AZURE_CLIENT_CERTIFICATE AZURE_CLIENT_CERTIFICATE_PASSWORD
    AZURE_CLIENT_ID AZURE_CLIENT_SECRET AZURE_FEDERATED_TOKEN_FILE AZURE_OPERATOR_MODE
    AZURE_SUBSCRIPTION_ID AZURE_TENANT_ID AZURE_USER_ASSIGNED_IDENTITY_CREDENTIALS
    POD_NAMESPACE RATE_LIMIT_MODE USE_WORKLOAD_IDENTITY_AUTH
"""
KNOWN = frozenset(
    {
        *(field.metadata.get(_NAME, "") for field in attrs.fields(Settings)),
        *(field.metadata[_NAME] for field in attrs.fields(RateLimit)),
        *CLOUD,
        *_FURTHER.split(),
    }
) - {""}
"""Every setting's name."""


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Read the settings. Raises SettingsError naming every problem, not only
    the first.
    """
    reader = Environment(environment)
    cloud = _cloud(reader)
    token_file = reader.text("AZURE_FEDERATED_TOKEN_FILE") or TOKEN_FILE
    notices: list[str] = []
    settings = Settings(
        pod_namespace=reader.required(
            "POD_NAMESPACE", "the namespace that the operator runs in"
        ),
        cloud=cloud,
        credential=global_credential(reader, cloud, token_file, notices),
        credentials=SecretRules(
            cloud=cloud,
            allow_clouds=reader.parsed("ALLOW_MULTI_ENV_MANAGEMENT", flag, False),
            cloud_hosts=reader.parsed(
                "ASORECONCILE_CLOUD_HOSTS", _cloud_hosts, AZURE_HOSTS
            ),
            token_file=token_file,
        ),
        rate_limit=_rate_limit(reader),
        **_read(Settings, reader),
    )
    mode = reader.parsed("AZURE_OPERATOR_MODE", _mode, None)
    if mode is OperatorMode.WEBHOOKS:
        reader.refuse(
            "AZURE_TARGET_NAMESPACES",
            "needs an AZURE_OPERATOR_MODE with watchers: remove it, as webhooks alone "
            "reconcile nothing, or write watchers-and-webhooks",
        )
    reader.check_names(KNOWN)
    if reader.problems:
        raise SettingsError(reader.problems)
    if settings.ignore_fields:
        from asoreconcile.azure.catalogue.ignored_fields import paths_of_no_kind
        from asoreconcile.azure.controllers.catalogue import builtin

        # No error: a kind that is not built in may have the field.
        notices += [
            f"{IGNORE_FIELDS_ROW.setting}: {why} (of the built-in kinds)"
            for why in paths_of_no_kind(settings.ignore_fields, builtin())
        ]
    return attrs.evolve(
        settings,
        mode=mode or OperatorMode.BOTH,
        wants_webhooks=mode is not None and mode.answers,
        notices=tuple(notices),
    )


def _cloud(reader: Environment) -> CloudConfig:
    # The audience is a name; the operator never connects to it.
    values = {
        CLOUD[name]: reader.parsed(name, https, "")
        for name in ("AZURE_AUTHORITY_HOST", "AZURE_RESOURCE_MANAGER_ENDPOINT")
    }
    audience = reader.parsed("AZURE_RESOURCE_MANAGER_AUDIENCE", identifier, "")
    return CloudConfig(**values, audience=audience)


def _rate_limit(reader: Environment) -> RateLimit | None:
    limit = RateLimit(**_read(RateLimit, reader))
    mode = reader.parsed("RATE_LIMIT_MODE", _rate_limit_mode, "disabled")
    return limit if mode == "bucket" else None


def _rate_limit_mode(text: str) -> str:
    if text.lower() not in {"disabled", "bucket"}:
        raise ValueError(f"{text!r} is neither disabled nor bucket")
    return text.lower()

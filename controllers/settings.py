"""The operator's settings: ASO's environment variables, checked all at once.

The `aso-controller-settings` Secret is projected into the environment key by key
(operations section 1). An empty value counts as unset.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

import attrs

from asoreconcile.arm.credentials import CloudConfig
from asoreconcile.azure.policy import Policy
from asoreconcile.controllers.durations import parse_duration
from asoreconcile.errors import AsoError

T = TypeVar("T")

_DEFAULT_SYNC_PERIOD_SECONDS: float | None = 3600.0
_DEFAULT_WORKERS = 4


class SettingsError(AsoError):
    """Settings that cannot be used; the text has one line a problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@attrs.frozen
class Settings:
    """What the manager is told by its environment.

    subscription_id: "" means there is no global credential.
    sync_period_seconds: how often an object in order is looked at again; None is never.
    pod_namespace: the operator's own namespace, its mark on objects.
    """

    pod_namespace: str
    cloud: CloudConfig
    subscription_id: str = ""
    tenant_id: str = ""
    client_id: str = ""
    client_secret: str = attrs.field(default="", repr=False)
    sync_period_seconds: float | None = _DEFAULT_SYNC_PERIOD_SECONDS
    max_concurrent_reconciles: int = _DEFAULT_WORKERS
    default_policy: Policy = Policy.MANAGE
    user_agent_suffix: str = ""


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Read the settings. Raises SettingsError naming every problem, not the first."""
    reader = _Reader(environment)
    subscription = reader.text("AZURE_SUBSCRIPTION_ID")
    settings = Settings(
        pod_namespace=reader.required(
            "POD_NAMESPACE", "the namespace that the operator runs in"
        ),
        cloud=reader.cloud(),
        subscription_id=subscription,
        tenant_id=reader.text("AZURE_TENANT_ID"),
        client_id=reader.text("AZURE_CLIENT_ID"),
        client_secret=reader.text("AZURE_CLIENT_SECRET"),
        sync_period_seconds=reader.parsed(
            "AZURE_SYNC_PERIOD", _sync_period, _DEFAULT_SYNC_PERIOD_SECONDS
        ),
        max_concurrent_reconciles=reader.parsed(
            "MAX_CONCURRENT_RECONCILES", _workers, _DEFAULT_WORKERS
        ),
        default_policy=reader.parsed(
            "DEFAULT_RECONCILE_POLICY", _policy, Policy.MANAGE
        ),
        user_agent_suffix=reader.text("AZURE_USER_AGENT_SUFFIX"),
    )
    if subscription:
        for name in ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET"):
            reader.required(name, "needed with AZURE_SUBSCRIPTION_ID")
    if reader.problems:
        raise SettingsError(reader.problems)
    return settings


class _Reader:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.problems: list[str] = []

    def text(self, name: str) -> str:
        return self._environment.get(name, "").strip()

    def required(self, name: str, what: str) -> str:
        value = self.text(name)
        if not value:
            self.problems.append(f"{name} is not set: {what}")
        return value

    def parsed(self, name: str, parse: Callable[[str], T], default: T) -> T:
        value = self.text(name)
        if not value:
            return default
        try:
            return parse(value)
        except ValueError as error:
            self.problems.append(f"{name}: {error}")
            return default

    def cloud(self) -> CloudConfig:
        given = {
            field: value
            for field, name in (
                ("authority_host", "AZURE_AUTHORITY_HOST"),
                ("endpoint", "AZURE_RESOURCE_MANAGER_ENDPOINT"),
                ("audience", "AZURE_RESOURCE_MANAGER_AUDIENCE"),
            )
            if (value := self.parsed(name, _https, ""))
        }
        return CloudConfig(**given)


def _https(text: str) -> str:
    # A bearer token must not travel in the clear.
    if not text.startswith("https://"):
        raise ValueError(f"{text!r} must begin with https://")
    return text


def _sync_period(text: str) -> float | None:
    if text.lower() == "never":
        return None
    seconds = parse_duration(text)
    if seconds <= 0:
        raise ValueError(f"{text!r} is not positive: to switch it off write never")
    return seconds


def _workers(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        raise ValueError(f"{text!r} is no whole number") from None
    if count < 1:
        raise ValueError(f"{count} is too low: at least 1 worker is needed")
    return count


def _policy(text: str) -> Policy:
    try:
        return Policy(text)
    except ValueError:
        names = ", ".join(p.value for p in Policy)
        raise ValueError(f"{text!r} is not one of {names}") from None

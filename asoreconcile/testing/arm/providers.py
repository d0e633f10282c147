"""The resource providers that ARM knows: their registration and api-versions.

Unless a test changes it, all are registered and accept every api-version (PR1-PR4).
"""

from collections.abc import Iterable

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.refusals import RefusedError


class Providers:
    """The registrations of a server. The caller holds the server's lock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._registered_at: dict[str, float] = {}
        self._seconds: dict[str, float] = {}
        self._versions: dict[str, frozenset[str]] = {}

    def unregister(self, namespace: str, *, seconds: float = 0.0) -> None:
        """Make a namespace unregistered.

        seconds: duration of a later registration.
        """
        key = namespace.lower()
        self._registered_at[key] = float("inf")
        self._seconds[key] = seconds

    def register(self, namespace: str) -> JsonObject:
        """Begin to register a namespace; return ARM's answer."""
        key, now = namespace.lower(), self._clock.monotonic()
        if self._registered_at.get(key, now) == float("inf"):
            self._registered_at[key] = now + self._seconds[key]
        return self.show(namespace)

    def show(self, namespace: str) -> JsonObject:
        """Return what ARM shows of a namespace."""
        at = self._registered_at.get(namespace.lower(), 0.0)
        state = "Registered"
        if self._clock.monotonic() < at:
            state = "NotRegistered" if at == float("inf") else "Registering"
        return {"namespace": namespace, "registrationState": state}

    def allow(self, type_: str, versions: Iterable[str]) -> None:
        """Accept only these api-versions of a type."""
        self._versions[type_.lower()] = frozenset(versions)

    def check(self, address: ArmAddress, api_version: str) -> None:
        """Check that the provider is registered and the api-version is known.

        Raises RefusedError 400 or 409.
        """
        namespace = address.type_name.partition("/")[0]
        if self.show(namespace)["registrationState"] != "Registered":
            message = (
                "The subscription is not registered to use namespace "
                f"'{namespace}'. See https://aka.ms/rps-not-found for how to register "
                "subscriptions."
            )
            code = "MissingSubscriptionRegistration"
            detail = {"code": code, "target": namespace, "message": message}
            raise RefusedError(409, code, message, extra={"details": [detail]})
        known = self._versions.get(address.type)
        if known is not None and api_version not in known:
            raise RefusedError(
                400,
                "NoRegisteredProviderFound",
                "No registered resource provider found for API version "
                f"'{api_version}' for type '{address.type_name}'. The supported "
                f"api-versions are '{', '.join(sorted(known))}'.",
            )

"""Register a resource provider with a subscription if ARM says that it is missing.

One POST is sent per (subscription, namespace), and no thread waits for the
registration, which takes minutes: the caller's object is simply retried. Rules:
PR1-PR4, R4.7.
"""

import re
import threading
from collections.abc import Callable

from asoreconcile.azure.arm.errors import ArmError, without_query
from asoreconcile.azure.arm.ids import ArmIdError, parse, subscription_of
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError, StoppedError
from asoreconcile.base.log import Logger

API_VERSION = "2019-05-01"
_CODES = frozenset({"missingsubscriptionregistration", "subscriptionnotregistered"})
_QUOTED = re.compile(r"'([^']+)'")
_NAMESPACE = re.compile(r"[A-Za-z0-9]+(\.[A-Za-z0-9]+)+")
# Azure takes minutes; a second request sooner would change nothing.
_AGAIN_SECONDS = 600.0
# After no answer, or a temporary refusal: try again soon.
_AFTER_TROUBLE_SECONDS = 30.0

Post = Callable[[str, str], object]
"""One POST to a path with an api-version, such as `ArmClient.post`."""

_log = Logger(__name__)


class Registrations:
    """The requested registrations and their times, shared by one principal's clients.

    Thread-safe.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._not_before: dict[tuple[str, str], float] = {}
        self._forbidden: set[tuple[str, str]] = set()

    def request(self, post: Post, subscription: str, namespace: str) -> bool:
        """Request a registration, unless that was done in the last ten minutes.

        Makes at most one request. Errors are logged, because the next refused write
        calls this again; raises StoppedError only. Returns whether a request was made.
        """
        key = (subscription.lower(), namespace.lower())
        with self._lock:
            now = self._clock.monotonic()
            if now < self._not_before.get(key, now):
                return False
            # Recorded before the request, under the lock: hundreds of objects may be
            # refused at once.
            self._not_before[key] = now + _AGAIN_SECONDS
        log = _log.bind(subscription=subscription, namespace=namespace)
        log.info("Registering resource provider")
        try:
            post(
                f"/subscriptions/{subscription}/providers/{namespace}/register",
                API_VERSION,
            )
        except ArmError as error:
            self._refused(key, error, log)
        except StoppedError:
            self._again_soon(key)
            raise
        except AsoreconcileError as error:
            # Throttled, no token, no answer: none may hide the error that led here.
            self._again_soon(key)
            log.warning("Resource provider was not registered", error=str(error))
        return True

    def _refused(self, key: tuple[str, str], error: ArmError, log: Logger) -> None:
        # A 403 comes again each time: it is logged once, and retried every ten minutes.
        if error.status != 403:
            self._again_soon(key)
            log.warning("Resource provider was not registered", error=str(error))
            return
        with self._lock:
            known = key in self._forbidden
            self._forbidden.add(key)
        if not known:
            log.warning(
                "Resource provider may not be registered: grant */register/action, "
                "or register it by hand",
                error=str(error),
            )

    def _again_soon(self, key: tuple[str, str]) -> None:
        with self._lock:
            self._not_before[key] = self._clock.monotonic() + _AFTER_TROUBLE_SECONDS


def needed(error: ArmError) -> tuple[str, str] | None:
    """Return the (subscription, namespace) whose registration a refusal asks for, or
    None.

    The namespace is the first detail's target, else the message's last quoted word,
    else the request's own provider. Rule: PR2.
    """
    if error.status != 409 or error.code.lower() not in _CODES:
        return None
    path = _path(error.url)
    subscription = subscription_of(path)
    if subscription is None:
        return None
    # The message names the subscription first and the namespace last.
    for candidate in (*error.detail_targets[:1], *_QUOTED.findall(error.message)[-1:]):
        if _NAMESPACE.fullmatch(candidate):
            return subscription, candidate
    try:
        return subscription, parse(path).namespace
    except ArmIdError:
        return None


def _path(url: str) -> str:
    return "/" + without_query(url).partition("://")[2].partition("/")[2]

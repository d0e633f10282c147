"""Judge whether a 404 of Azure means that a resource is absent. Pure. Rule: V3.

A 404 may be about the subscription, the type, or another resource. It is taken for the
absence of this resource only if its code says so; the codes of providers are those that
were recorded.
"""

import re
from enum import Enum

from asoreconcile.azure.arm.error_body import CODES, UNKNOWN_CODE


class Absence(Enum):
    """The absence of a resource, as a response states it.

    CERTAIN: the resource does not exist. PERHAPS: a 404 with a code that is not known.
    NOT: the response does not say that the resource is missing.
    """

    CERTAIN = "certain"
    PERHAPS = "perhaps"
    NOT = "not"


# A topic's subscription, and the rules of one.
_SUBSCRIPTION_OF_A_TOPIC = re.compile(
    r"/providers/microsoft\.servicebus/namespaces/[^/]+/topics/[^/]+/subscriptions/",
    re.IGNORECASE,
)
# Providers that give no code: RedisEnterprise an RFC 9457 document, Synapse `null`.
_WITHOUT_A_CODE = frozenset({"microsoft.cache", "microsoft.synapse"})
_PROVIDER = re.compile(r"/providers/([^/?]+)", re.IGNORECASE)


def absence(code: str, url: str) -> Absence:
    """Return the absence of the requested resource, as a 404 of Azure states it.

    code: the code of the error body, `UNKNOWN_CODE` if the body has no code. url: the
    URL of the request, or the resource's id.
    """
    folded = code.lower()
    if folded in CODES["absent"]:
        return Absence.CERTAIN
    providers = _PROVIDER.findall(url)
    provider = providers[-1].lower() if providers else ""
    if f"{provider} {folded}" in CODES["recordedAbsent"]:
        return Absence.CERTAIN
    if folded == "subscriptionnotfound" and _SUBSCRIPTION_OF_A_TOPIC.search(url):
        return Absence.CERTAIN
    if code == UNKNOWN_CODE and provider in _WITHOUT_A_CODE:
        return Absence.CERTAIN
    return Absence.NOT if folded in CODES["notAboutTheResource"] else Absence.PERHAPS

"""The host of Microsoft Graph in each of Microsoft's clouds. Pure.

Graph's address follows from the sign-in authority: a token of one cloud is invalid in
another. Source: Microsoft's list of national cloud deployments.
"""

from urllib.parse import urlsplit

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass

GLOBAL = "https://graph.microsoft.com"
SETTING = "ASORECONCILE_GRAPH_ENDPOINT"
_US_GOVERNMENT = "https://graph.microsoft.us"
_CHINA = "https://microsoftgraph.chinacloudapi.cn"
_BY_AUTHORITY = {
    "login.microsoftonline.com": GLOBAL,
    "login.microsoft.com": GLOBAL,
    "login.windows.net": GLOBAL,
    "sts.windows.net": GLOBAL,
    "login.microsoftonline.us": _US_GOVERNMENT,
    "login.usgovcloudapi.net": _US_GOVERNMENT,
    "login.chinacloudapi.cn": _CHINA,
    "login.partner.microsoftonline.cn": _CHINA,
}


def graph_endpoint(authority_host: str, *, configured: str = "") -> str:
    """Graph's address, such as `https://graph.microsoft.com`.

    authority_host: of the credential's cloud. configured: the operator's setting, which
    wins; the cloud of the US Department of Defense needs it, as its authority is that
    of the other government clouds. Raises ConditionError `CredentialError` for an
    unknown authority: a token must not be sent to a guessed host.
    """
    if configured:
        return configured.rstrip("/")
    host = (urlsplit(authority_host).hostname or "").lower()
    try:
        return _BY_AUTHORITY[host]
    except KeyError:
        raise ConditionError(
            f"the address of Microsoft Graph is not known for the authority {host!r}: "
            f"set {SETTING} in the operator's settings",
            reason="CredentialError",
            retry=RetryClass.SLOW,
        ) from None


def graph_scope(endpoint: str) -> str:
    """The OAuth scope of tokens for Graph; its address is its audience."""
    return f"{endpoint}/.default"

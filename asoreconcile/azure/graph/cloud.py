"""Find Microsoft Graph's host for each of Microsoft's clouds. Pure.

Graph's address depends on the authority that signs the operator in: a token of one
cloud is not valid in another. Source: Microsoft's list of national cloud deployments.
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
    """Return Graph's address, such as `https://graph.microsoft.com`.

    authority_host: the authority of the credential's cloud.
    configured: the operator's setting, which wins; needed for the departments of
    defence, whose authority is shared with other governments.

    Raises ConditionError `CredentialError` for an authority of no known cloud: a token
    must not be sent to a guessed host.
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
    """Return the OAuth scope of tokens for Graph, whose audience is its address."""
    return f"{endpoint}/.default"

"""Impersonation headers, for acting as another user. Rule: CL-9."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

import attrs

from asoreconcile.base.errors import check_list
from asoreconcile.kube.cluster import ClusterConfig


def impersonation_headers(
    user: str,
    *,
    groups: Sequence[str] = (),
    uid: str = "",
    extra: Mapping[str, Sequence[str]],
) -> tuple[tuple[str, str], ...]:
    """Return the headers of each impersonating request. Pure."""
    headers = [("Impersonate-User", user)]
    headers += [("Impersonate-Uid", uid)] if uid else []
    headers += [("Impersonate-Group", str(group)) for group in groups]
    for key, values in extra.items():
        header = f"Impersonate-Extra-{quote(str(key).lower(), safe='')}"
        headers += [(header, str(value)) for value in values]
    return tuple(headers)


def impersonating(
    config: ClusterConfig,
    user: str,
    *,
    groups: Sequence[str] = (),
    uid: str = "",
    extra: Mapping[str, Sequence[str]],
) -> ClusterConfig:
    """Return the configuration with impersonation of another user. Raises ValueError
    without a user, TypeError if groups is a single string.

    It replaces the configuration's own impersonation.
    """
    if not user:
        raise ValueError(
            "user is missing: name the user to act as, also if groups are given"
        )
    check_list("groups", groups)
    headers = impersonation_headers(user, groups=groups, uid=uid, extra=extra)
    return attrs.evolve(config, impersonation=headers)

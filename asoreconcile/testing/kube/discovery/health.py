"""The health checks: `/healthz`, `/livez`, `/readyz`, and single checks below. Pure.

If the server answers at all, all checks pass. `?verbose` lists them; `?exclude=NAME`
leaves one out, and the answer says so if there is no check with that name.
"""

import urllib.parse

_BOTH = (
    *("ping", "log", "etcd"),
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/rbac/bootstrap-roles",
)
_CHECKS = {
    "healthz": _BOTH,
    "livez": _BOTH,
    "readyz": (
        *(*_BOTH[:3], "etcd-readiness", "informer-sync"),
        *(*_BOTH[3:], "shutdown"),
    ),
}


def answer(path: str, query: str) -> str | None:
    """Return the text at a path, or None if it has no check.

    query: raw query string.
    """
    root, _, check = path.strip("/").partition("/")
    if root not in _CHECKS:
        return None
    if check:
        return "ok" if check in _CHECKS[root] else None
    asked = urllib.parse.parse_qs(query, keep_blank_values=True)
    if "verbose" not in asked:
        return "ok"
    left_out = asked.get("exclude", [])
    lines = [
        f"[+]{name} excluded: ok" if name in left_out else f"[+]{name} ok"
        for name in _CHECKS[root]
    ]
    unknown = sorted({f'"{name}"' for name in left_out if name not in _CHECKS[root]})
    if unknown:
        lines.append(
            "warn: some health checks cannot be excluded: no matches for "
            + ", ".join(unknown)
        )
    return "\n".join([*lines, f"{root} check passed", ""])

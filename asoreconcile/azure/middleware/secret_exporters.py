"""Build extensions that export keys: one request to Azure, its values to Secrets.

Azure is called only for keys that `spec.operatorSpec.secrets` or an expression
requests. The values appear in the export only; errors name keys.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.middleware.context import KeptAs
from asoreconcile.azure.middleware.extension_points import Middleware, named
from asoreconcile.azure.middleware.requests import Export, ExportSecrets, SecretExport
from asoreconcile.azure.middleware.stated_names import StatedPath, reading
from asoreconcile.base.objects import JsonObject, dig

_DESTINATIONS = "spec.operatorSpec.secrets"
_STEP = re.compile(r"(?P<name>[^\[]+)(\[(?P<field>\w+)=(?P<value>[^\]]*)\])?")

_PART_OF_LIFE = 2 / 3
# A lifetime of next to nothing, by a clock that is wrong, must not cause a request a
# second.
_LEAST_SECONDS = 300.0

# A dotted path (`a.b`, `keys[keyName=key1].value`, `[name=]` for an absent name), or a
# function of the document.
ValueSource = str | Callable[[JsonObject], str | None]


def export_keys(
    action: str,
    keys: Mapping[str, ValueSource],
    *,
    api_versions: Mapping[str, str] = MappingProxyType({}),
    kept_as: KeptAs | None = None,
    lifetime: Callable[[JsonObject, datetime], float] | None = None,
) -> Middleware[ExportSecrets, SecretExport]:
    """Return an exporter that POSTs one action and copies fields of the response.

    action: the last part of the URL after the resource's id, such as `listKeys`.
    keys: the name in `operatorSpec.secrets` -> the place of the value in the response.
    api_versions: api-version to ask with, by that of the object, if Azure does not
    list the action at the object's own.
    kept_as: form in which ASO stores the token of a long-running action.
    lifetime: function of the response and the present time that returns the lifetime,
    in seconds, of a credential that the action has made. The action is repeated after
    two thirds of it. None for an action that only reads.

    No request is made if none of the keys is requested. Raises ConditionError if a
    requested one is missing or empty in the response.
    """

    def export(
        req: ExportSecrets, call_next: Callable[[ExportSecrets], SecretExport], /
    ) -> SecretExport:
        rest = call_next(req)
        wanted = requested(req, keys)
        if not wanted:
            return rest
        only_reads = lifetime is None
        own = req.ctx.version.api_version
        asked_at = api_versions.get(own, own)
        answer = _ask(req, action, asked_at, kept_as, only_reads=only_reads)
        origin = f"Azure's answer to {action}"
        mine = collect(req, keys, wanted, answer, origin=origin)
        if lifetime is not None:
            life = lifetime(answer, req.ctx.clock.now())
            renew = max(life * _PART_OF_LIFE, _LEAST_SECONDS)
            mine = attrs.evolve(mine, renew_after_seconds=renew)
        return rest.merge(attrs.evolve(mine, uses_status=False))

    return named(export, f"export_keys({action})")


def export_status(
    keys: Mapping[str, ValueSource],
) -> Middleware[ExportSecrets, SecretExport]:
    """Return an exporter that copies fields of the object itself; makes no request.

    keys: the name in `operatorSpec.secrets` -> its path from the object's root, such as
    `status.fullyQualifiedDomainName`, or a function of the object.
    """

    def export(
        req: ExportSecrets, call_next: Callable[[ExportSecrets], SecretExport], /
    ) -> SecretExport:
        wanted = requested(req, keys)
        mine = collect(req, keys, wanted, req.obj, origin="the resource's status")
        # If no key is requested, a change of the status must not cause an export.
        return call_next(req).merge(attrs.evolve(mine, uses_status=bool(wanted)))

    paths = [StatedPath(one) for one in keys.values() if isinstance(one, str)]
    return named(reading(export, *paths), f"export_status({', '.join(keys)})")


def requested(req: ExportSecrets, keys: Iterable[str]) -> frozenset[str]:
    """Return the keys that the object or one of its expressions requests."""
    asked = {name for name, at in _destinations(req.obj).items() if at}
    return frozenset(keys) & (asked | req.extra)


def collect(
    req: ExportSecrets,
    keys: Mapping[str, ValueSource],
    wanted: Iterable[str],
    document: JsonObject,
    *,
    origin: str,
) -> SecretExport:
    """Return the requested keys' values, for their destinations and raw for
    expressions.

    origin: a name of the document for the message of the ConditionError, which is
    raised if a value for a destination is missing or empty.
    """
    destinations = _destinations(req.obj)
    exports = []
    raw = {}
    for name in sorted(wanted):
        value = _value(document, keys[name])
        if name in req.extra and value:
            raw[name] = value
        if destination := destinations.get(name):
            if not value:
                raise no_value(name, origin)
            exports.append(Export.to(destination, value))
    return SecretExport(tuple(exports), raw)


def no_value(name: str, origin: str) -> ConditionError:
    """Return the error for a value that is missing, null, empty or of another type: no
    Secret is written without it.
    """
    return ConditionError(
        f'{origin} holds no value for "{name}", which {_DESTINATIONS} asks for: '
        "remove it there if the resource has none",
        reason="Failed",
    )


def _ask(
    req: ExportSecrets,
    action: str,
    api_version: str,
    kept_as: KeptAs | None,
    *,
    only_reads: bool,
) -> JsonObject:
    ctx = req.ctx
    ctx.check()
    answer = ctx.lro(
        "export-" + re.sub(r"\W+", "-", action).lower(),
        lambda: ctx.arm.post(f"{ctx.arm_id}/{action}", api_version),
        kept_as=kept_as,
        only_reads=only_reads,
    )
    return answer if isinstance(answer, dict) else {}


def _destinations(obj: JsonObject) -> Mapping[str, JsonObject]:
    found = dig(obj, _DESTINATIONS)
    return found if isinstance(found, dict) else {}


def _value(document: JsonObject, source: ValueSource) -> str | None:
    found = _follow(document, source) if isinstance(source, str) else source(document)
    # Ports are numbers in a status and text in a Secret; booleans are not exported.
    is_value = isinstance(found, str | int) and not isinstance(found, bool)
    return str(found) if is_value else None


def _follow(value: Any, path: str) -> Any:
    for step in path.split("."):
        match = _STEP.fullmatch(step)
        if match is None or not isinstance(value, dict):
            return None
        value = value.get(match["name"])
        if match["field"]:
            value = _selected(value, match["field"], match["value"])
    return value


def _selected(items: Any, field: str, wanted: str) -> Any:
    if not isinstance(items, list):
        return None
    for item in items:
        if not isinstance(item, dict):
            continue
        name = item.get(field)
        # A name of another type does not count as absent.
        if ("" if name is None else name) == wanted:
            return item
    return None

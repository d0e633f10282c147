"""Checks CustomResourceDefinitions as Kubernetes does. Pure."""

import unicodedata
import urllib.parse
from collections.abc import Iterator, Sequence
from typing import Any

from asoreconcile.base.objects import JsonObject, metadata, spec
from asoreconcile.resources.crds.cause import (
    Cause,
    forbidden,
    invalid,
    required,
    unsupported,
)
from asoreconcile.resources.crds.labels import domain_mistakes, label_mistakes
from asoreconcile.resources.crds.paths import (
    FieldPathError,
    field_schema,
    simple_path_causes,
)
from asoreconcile.resources.crds.structural import Values, causes, without_nulls

_SCOPES = ("Cluster", "Namespaced")
_STRATEGIES = ("None", "Webhook")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = (
    *("byte", "date", "date-time", "double", "float", "int32", "int64", "password"),
)
_SELECTABLE_TYPES = ("string", "boolean", "integer")
_MOST_SELECTABLE, _LONGEST_WARNING, _LARGEST_PORT = 8, 256, 65535
_REVIEWS = ("v1", "v1beta1")
_APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")


def definition_causes(crd: JsonObject, values: Values) -> Iterator[Cause]:
    """Yield the reasons for which Kubernetes refuses a CRD.

    crd: the CRD, with the defaults of its names and conversion filled in. values:
    checks of the defaults and expressions in its schemas.
    """
    content, name = spec(crd), str(metadata(crd).get("name") or "")
    names, group = content["names"], content.get("group") or ""
    if name != f"{names.get('plural', '')}.{group}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _group_causes(group)
    yield from _approval_causes(crd, group)
    scope = content.get("scope") or ""
    if not scope:
        yield required("spec.scope")
    elif scope not in _SCOPES:
        yield unsupported("spec.scope", scope, _SCOPES)
    if content.get("preserveUnknownFields"):
        why = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        yield invalid("spec.preserveUnknownFields", True, why)
    yield from _names_causes(names)
    if content.get("conversion") is not None:
        yield from _conversion_causes(content["conversion"])
    yield from _versions_causes(content.get("versions") or [], values)


def _group_causes(group: str) -> Iterator[Cause]:
    if not group:
        yield required("spec.group")
    elif mistakes := domain_mistakes(group):
        yield invalid("spec.group", group, ",".join(mistakes))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def _approval_causes(crd: JsonObject, group: str) -> Iterator[Cause]:
    """Yield what is missing for a group that belongs to Kubernetes itself."""
    if not any(group == one or group.endswith(f".{one}") for one in _PROTECTED):
        return
    here = f"metadata.annotations[{_APPROVAL}]"
    stated = (metadata(crd).get("annotations") or {}).get(_APPROVAL)
    see = "see https://github.com/kubernetes/enhancements/pull/1111"
    if not stated:
        why = f'protected groups must have approval annotation "{_APPROVAL}", {see}'
        yield required(here, why)
    elif not stated.startswith("unapproved") and not _is_address(stated):
        why = (
            f'protected groups must have approval annotation "{_APPROVAL}" with either '
            f'a URL or a reason starting with "unapproved", {see}'
        )
        yield invalid(here, stated, why)


def _is_address(text: str) -> bool:
    try:
        found = urllib.parse.urlsplit(text)
    except ValueError:
        return False
    return bool(found.scheme and found.netloc)


def _names_causes(names: JsonObject) -> Iterator[Cause]:
    at = "spec.names"
    for field in ("plural", "singular", "kind", "listKind"):
        name = names.get(field) or ""
        if not name:
            yield required(f"{at}.{field}")
            continue
        is_kind = field in ("kind", "listKind")
        if mistakes := label_mistakes(name.lower() if is_kind else name):
            mixed = "may have mixed case, but should otherwise match: "
            why = (mixed if is_kind else "") + ",".join(mistakes)
            yield invalid(f"{at}.{field}", name, why)
    for field in ("shortNames", "categories"):
        for index, name in enumerate(names.get(field) or ()):
            if mistakes := label_mistakes(name):
                yield invalid(f"{at}.{field}[{index}]", name, ",".join(mistakes))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        why = "kind and listKind may not be the same"
        yield invalid(f"{at}.listKind", names["listKind"], why)


def _versions_causes(versions: Sequence[JsonObject], values: Values) -> Iterator[Cause]:
    at = "spec.versions"
    if sum(bool(one.get("storage")) for one in versions) != 1:
        yield invalid(at, "", "must have exactly one version marked as storage version")
    if len({one.get("name") for one in versions}) != len(versions):
        yield invalid(at, "", "must contain unique version names")
    for index, version in enumerate(versions):
        here, name = f"{at}[{index}]", version.get("name") or ""
        if mistakes := label_mistakes(name):
            yield invalid(f"{here}.name", name, ",".join(mistakes))
        yield from _warning_causes(version, f"{here}.deprecationWarning")
        if _schema(version) is None:
            why = "schemas are required"
            yield required(f"{here}.schema.openAPIV3Schema", why)
    # The API server names what all versions share by a place of its own.
    any_status = any(_has_status(one) for one in versions)
    for index, version in enumerate(versions):
        here = f"{at}[{index}]"
        place = {
            part: ("spec" if _is_shared(versions, part) else here)
            for part in (
                *("schema", "subresources", "additionalPrinterColumns"),
                "selectableFields",
            )
        }
        schema = _schema(version)
        if schema is not None and (place["schema"] != "spec" or index == 0):
            shared = place["schema"] == "spec"
            where = "spec.validation" if shared else f"{here}.schema"
            has_status = any_status if shared else _has_status(version)
            yield from causes(
                without_nulls(schema),
                f"{where}.openAPIV3Schema",
                values,
                has_status=has_status,
            )
        if place["subresources"] != "spec" or index == 0:
            where = f"{place['subresources']}.subresources"
            yield from _scale_causes(version.get("subresources") or {}, where)
        if place["additionalPrinterColumns"] != "spec" or index == 0:
            for number, column in enumerate(
                version.get("additionalPrinterColumns") or ()
            ):
                where = f"{place['additionalPrinterColumns']}.additionalPrinterColumns"
                yield from _column_causes(column, f"{where}[{number}]")
        if place["selectableFields"] != "spec" or index == 0:
            where = f"{place['selectableFields']}.selectableFields"
            yield from _selectable_causes(version, where)


def _is_shared(versions: Sequence[JsonObject], part: str) -> bool:
    first = versions[0].get(part)
    return bool(first) and all(one.get(part) == first for one in versions)


def _schema(version: JsonObject) -> JsonObject | None:
    found = (version.get("schema") or {}).get("openAPIV3Schema")
    return found if isinstance(found, dict) else None


def _has_status(version: JsonObject) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _warning_causes(version: JsonObject, at: str) -> Iterator[Cause]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield invalid(at, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > _LONGEST_WARNING:
        yield invalid(at, warning, "must be <= 256 characters long")
    if not warning:
        yield invalid(at, warning, "must not be an empty string")
    for index, sign in enumerate(warning):
        # The space is the one separator that counts as printable.
        if sign != " " and unicodedata.category(sign)[0] in "CZ":
            place = len(warning[:index].encode())
            why = (
                "must only contain printable UTF-8 characters; non-printable character "
                f"found at index {place}"
            )
            yield invalid(at, warning, why)
            return


def _scale_causes(subresources: JsonObject, at: str) -> Iterator[Cause]:
    scale = subresources.get("scale")
    if scale is None:
        return
    for field, under, is_needed in (
        ("specReplicasPath", (".spec",), True),
        ("statusReplicasPath", (".status",), True),
        ("labelSelectorPath", (".spec", ".status"), False),
    ):
        path = scale.get(field) or ""
        if path:
            yield from simple_path_causes(path, f"{at}.scale.{field}", under)
        elif is_needed:
            yield required(f"{at}.scale.{field}")


def _column_causes(column: JsonObject, at: str) -> Iterator[Cause]:
    kind, form = column.get("type") or "", column.get("format") or ""
    path = column.get("jsonPath") or ""
    if not column.get("name"):
        yield required(f"{at}.name")
    why = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        yield required(f"{at}.type", why)
    elif kind not in _COLUMN_TYPES:
        yield invalid(f"{at}.type", kind, why)
    if form and form not in _COLUMN_FORMATS:
        yield invalid(
            f"{at}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"
        )
    if path:
        yield from simple_path_causes(path, f"{at}.JSONPath")
    else:
        yield required(f"{at}.JSONPath")


def _selectable_causes(version: JsonObject, at: str) -> Iterator[Cause]:
    seen: set[str] = set()
    schema = _schema(version)
    for index, field in enumerate(version.get("selectableFields") or ()):
        here, path = f"{at}[{index}].jsonPath", field.get("jsonPath") or ""
        if not path:
            yield required(here)
            continue
        try:
            found = field_schema(schema or {}, path, with_keys=False)
        except FieldPathError as error:
            yield invalid(here, path, f"is an invalid path: {error}")
            continue
        if path.startswith(".metadata"):
            yield invalid(here, path, "must not point to fields in metadata")
        if found is None or found.get("type") not in _SELECTABLE_TYPES:
            why = (
                "must point to a field of type string, boolean or integer. Enum string "
                "fields and strings with formats are allowed."
            )
            yield invalid(here, path, why)
        if path in seen:
            yield Cause(here, "FieldValueDuplicate", f'Duplicate value: "{path}"')
        seen.add(path)
    if len(seen) > _MOST_SELECTABLE:
        why = f"Too many: {len(seen)}: must have at most {_MOST_SELECTABLE} items"
        yield Cause(at, "FieldValueTooMany", why)


def _conversion_causes(conversion: JsonObject) -> Iterator[Cause]:
    at, strategy = "spec.conversion", conversion.get("strategy") or ""
    webhook: JsonObject = conversion.get("webhook") or {}
    config, reviews = (
        webhook.get("clientConfig"),
        webhook.get("conversionReviewVersions"),
    )
    if not strategy:
        yield required(f"{at}.strategy")
    elif strategy not in _STRATEGIES:
        yield unsupported(f"{at}.strategy", strategy, _STRATEGIES)
    if strategy == "Webhook":
        if config is None:
            why = "required when strategy is set to Webhook"
            yield required(f"{at}.webhookClientConfig", why)
        else:
            yield from _client_causes(config, f"{at}.webhookClientConfig")
        yield from _review_causes(reviews or [], f"{at}.conversionReviewVersions")
        return
    why = "should not be set when strategy is not set to Webhook"
    if config is not None:
        yield forbidden(f"{at}.webhookClientConfig", why)
    if reviews:
        yield forbidden(f"{at}.conversionReviewVersions", why)


def _client_causes(config: JsonObject, at: str) -> Iterator[Cause]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required(at, "exactly one of url or service is required")
    elif url is not None:
        yield from _url_causes(url, f"{at}.url")
    elif service is not None:
        yield from _service_causes(service, f"{at}.service")


def _url_causes(url: str, at: str) -> Iterator[Cause]:
    form = "; desired format: https://host[/path]"
    try:
        found = urllib.parse.urlsplit(url)
    except ValueError as error:
        yield required(at, f"url must be a valid URL: {error}{form}")
        return
    if found.scheme != "https":
        why = f"'https' is the only allowed URL scheme{form}"
        yield invalid(at, found.scheme, why)
    if not found.netloc.rpartition("@")[2]:
        yield invalid(at, "", f"host must be specified{form}")
    if "@" in found.netloc:
        shown = found.netloc.rpartition("@")[0]
        yield invalid(at, shown, "user information is not permitted in the URL")
    if found.fragment:
        yield invalid(at, found.fragment, "fragments are not permitted in the URL")
    if found.query:
        yield invalid(at, found.query, "query parameters are not permitted in the URL")


def _service_causes(service: JsonObject, at: str) -> Iterator[Cause]:
    for field in ("name", "namespace"):
        if not service.get(field):
            yield required(f"{at}.{field}")
    port = service.get("port", 443)
    if not 1 <= port <= _LARGEST_PORT:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        yield invalid(f"{at}.port", port, why)
    path = service.get("path")
    if not path or path == "/":
        return
    if not path.startswith("/"):
        yield invalid(f"{at}.path", path, "must start with a '/'")
    for index, step in enumerate(path[1:].removesuffix("/").split("/")):
        if not step:
            yield invalid(f"{at}.path", path, f"segment[{index}] may not be empty")
            continue
        for mistake in domain_mistakes(step):
            yield invalid(f"{at}.path", path, f"segment[{index}]: {mistake}")


def _review_causes(reviews: Sequence[Any], at: str) -> Iterator[Cause]:
    if not reviews:
        yield required(at)
        return
    for index, version in enumerate(reviews):
        if version in reviews[:index]:
            yield invalid(f"{at}[{index}]", version, "duplicate version")
            continue
        for mistake in label_mistakes(version):
            yield invalid(f"{at}[{index}]", version, mistake)
    if not any(version in _REVIEWS for version in reviews):
        shown = "[" + ",".join(f'"{version}"' for version in reviews) + "]"
        why = f"must include at least one of {', '.join(_REVIEWS)}"
        yield Cause(at, "FieldValueInvalid", f"Invalid value: {shown}: {why}")

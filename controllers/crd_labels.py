"""The user's labels for the CRDs that the operator installs (`--crd-labels`)."""

import re
from collections.abc import Iterator, Mapping

_SEPARATORS = re.compile(r"[,;]")
_NAME = re.compile(r"[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(
    r"(?=.{1,253}/)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/"
)
NAME_LABEL = "app.kubernetes.io/name"
VERSION_LABEL = "app.kubernetes.io/version"
_RESERVED = (NAME_LABEL, VERSION_LABEL)
_RESERVED_PREFIX = "serviceoperator.azure.com/"


def crd_labels(text: str) -> Mapping[str, str]:
    """Parse `key=value` pairs separated by commas or semicolons. Pure.

    "" has no labels, and empty items are ignored. Raises ValueError that names every
    mistake: an item that is not a pair or not a label, a repeated key, and the
    operator's own keys.
    """
    labels: dict[str, str] = {}
    problems: list[str] = []
    for item in filter(None, map(str.strip, _SEPARATORS.split(text))):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            problems.append(f"{item!r} is not of the form key=value")
            continue
        problems.extend(_problems(key, value))
        if key in labels:
            problems.append(f"{key} is there twice")
        labels[key] = value
    if problems:
        raise ValueError("; ".join(problems))
    return labels


def _problems(key: str, value: str) -> Iterator[str]:
    prefix = _PREFIX.match(key)
    if not _NAME.fullmatch(key[prefix.end() :] if prefix else key):
        yield f"{key!r} is no key of a label"
    if value and not _NAME.fullmatch(value):
        yield f"{value!r} is no value of a label"
    if key in _RESERVED or key.startswith(_RESERVED_PREFIX):
        yield f"{key} is the operator's own"

"""The exports of an object by expressions: `secretExpressions`, `configMapExpressions`.

Each yields one string under its key, or a map whose keys become keys. They are checked
before any request to Azure, and evaluated once the secrets they name are known. Values
of secrets stay out of every message.

As in Azure Service Operator, `secret` is empty in expressions for ConfigMaps.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from asoreconcile.azure.catalogue.defaults import (
    with_defaults,
    with_identity_references,
)
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.problems import Problem
from asoreconcile.azure.catalogue.suggestions import closest
from asoreconcile.azure.expressions.api import (
    Checked,
    ExpressionError,
    ExpressionLimitError,
    Expressions,
)
from asoreconcile.azure.middleware.requests import Export
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.export_targets import (
    CONFIG_MAP_EXPRESSIONS,
    SECRET_EXPRESSIONS,
    expressions,
)
from asoreconcile.base.objects import JsonObject, key_of, spec

# The texts that Kubernetes accepts as a key of a Secret, and as the value of a label.
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_LABEL_VALUE = re.compile(r"([a-zA-Z0-9]([-._a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)?")


# A map is one expression, so this is far more than people write by hand.
MAX_EXPRESSIONS = 100
_MAX_PROBLEMS = 10


_Values = Mapping[str, str] | None
"""Of secrets by name; None for ConfigMaps, whose expressions are given none."""


class ExportExpressionError(Exception):
    """Expressions are invalid or failed; the message names each, its place and the
    reason.
    """

    def __init__(self, problems: list[Problem]) -> None:
        message = "; ".join(str(problem) for problem in problems[:_MAX_PROBLEMS])
        more = len(problems) - _MAX_PROBLEMS
        super().__init__(f"{message}; and {more} more" if more > 0 else message)
        self.problems = problems


class _LimitError(ExportExpressionError):
    """An expression that exceeds a limit; no other is evaluated after it."""


@attrs.frozen
class _Text:
    """One expression of an object, and its place in the spec."""

    at: str
    text: str


@attrs.frozen
class _Destination:
    """One entry of `secretExpressions` or `configMapExpressions`."""

    at: str
    name: str
    key: str
    value: _Text
    labels: Mapping[str, _Text]
    annotations: Mapping[str, _Text]

    def texts(self) -> Iterator[_Text]:
        yield self.value
        yield from self.labels.values()
        yield from self.annotations.values()


class ExportExpressions:
    """The expressions of one object. Blocking: asks the engine's process."""

    def __init__(
        self, expressions: Expressions, version: KindVersion, obj: JsonObject
    ) -> None:
        self._expressions = expressions
        self._version = version
        self._obj = _completed(version, obj)
        self._secrets = _destinations(obj, SECRET_EXPRESSIONS)
        self._config_maps = _destinations(obj, CONFIG_MAP_EXPRESSIONS)

    def problems(self) -> list[Problem]:
        """Return the mistakes in the expressions; none is evaluated.

        If one exceeds a limit, that mistake alone is returned. Raises
        EngineMissingError, EngineBusyError.
        """
        try:
            return self._problems()
        except _LimitError as error:
            return error.problems

    def _problems(self) -> list[Problem]:
        texts = [t for o in (*self._secrets, *self._config_maps) for t in o.texts()]
        if len(texts) > MAX_EXPRESSIONS:
            message = f"holds {len(texts)} expressions, more than {MAX_EXPRESSIONS}"
            return [Problem("spec.operatorSpec", message)]
        found: list[Problem] = []
        for one in self._secrets:
            found += [*self._destination_problems(one)] or self._unnamed(one)
        for one in self._config_maps:
            found += self._destination_problems(one)
        return found

    def secret_names(self) -> frozenset[str]:
        """Return the names of the secrets that the expressions need.

        Call it only if `problems` has found no mistake.
        """
        texts = (text for one in self._secrets for text in one.texts())
        return frozenset().union(*(self._check(text).secrets for text in texts))

    def config_maps(self) -> list[Export]:
        """Return the exports to ConfigMaps. Raises ExportExpressionError."""
        return self._exports(self._config_maps, None)

    def secrets(self, raw: Mapping[str, str]) -> list[Export]:
        """Return the exports to Secrets.

        raw: values of secrets by name. Raises ExportExpressionError.
        """
        return self._exports(self._secrets, raw)

    def _check(self, text: _Text) -> Checked:
        namespace = key_of(self._obj).namespace
        return self._expressions.check(self._version, text.text, namespace=namespace)

    def _destination_problems(self, one: _Destination) -> Iterator[Problem]:
        for text in one.texts():
            try:
                gives = self._check(text).gives
            except ExpressionLimitError as error:
                # The author may have written more such expressions: look no further.
                raise _LimitError([Problem(text.at, str(error))]) from error
            except ExpressionError as error:
                yield Problem(text.at, str(error))
                continue
            if text is not one.value:
                if gives != "string":
                    yield Problem(text.at, "returns a map: return a string")
            elif gives == "string" and not one.key:
                yield Problem(f"{one.at}.key", "is required: value gives a string")
            elif gives == "map" and one.key:
                yield Problem(
                    f"{one.at}.key", "remove it: value gives a map with keys of its own"
                )

    def _unnamed(self, one: _Destination) -> list[Problem]:
        message = (
            "uses secret without a name: write secret.<name> for each one, so that it "
            "can be told which ones to ask Azure for"
        )
        return [Problem(t.at, message) for t in one.texts() if self._check(t).whole]

    def _exports(self, destinations: list[_Destination], raw: _Values) -> list[Export]:
        found: list[Export] = []
        problems: list[Problem] = []
        for one in destinations:
            try:
                found += self._of(one, raw)
            except _LimitError:
                raise
            except ExportExpressionError as error:
                problems += error.problems
        if problems:
            raise ExportExpressionError(problems)
        return found

    def _of(self, one: _Destination, raw: _Values) -> list[Export]:
        value = self._evaluated(one.value, raw)
        entries = value if isinstance(value, dict) else {one.key: value}
        for position, key in enumerate(sorted(entries), 1):
            if not _DATA_KEY.fullmatch(key):
                # The key itself may hold a secret.
                raise _failed(
                    one.value,
                    f"key {position} of {len(entries)} is not made of 1 to 253 letters,"
                    " digits, dashes, dots and underscores",
                )
        labels = {name: self._string(text, raw) for name, text in one.labels.items()}
        for name, label in labels.items():
            if not _LABEL_VALUE.fullmatch(label):
                raise _failed(
                    one.labels[name],
                    "gives what cannot be a label: at most 63 letters, digits, dashes, "
                    "dots and underscores; use an annotation",
                )
        annotations = {
            name: self._string(t, raw) for name, t in one.annotations.items()
        }
        return [
            Export(one.name, key, text, labels, annotations)
            for key, text in entries.items()
        ]

    def _string(self, text: _Text, raw: _Values) -> str:
        value = self._evaluated(text, raw)
        if not isinstance(value, str):
            raise _failed(text, "returns a map: return a string")
        return value

    def _evaluated(self, text: _Text, raw: _Values) -> str | dict[str, str]:
        names = self._check(text).secrets
        known = {name: raw[name] for name in names if raw and name in raw}
        try:
            return self._expressions.evaluate(
                self._version, text.text, obj=self._obj, secrets=known
            )
        except ExpressionLimitError as error:
            # The author may have written more such expressions: look no further.
            raise _LimitError([Problem(text.at, str(error))]) from error
        except ExpressionError as error:
            missing = self._missing(names - known.keys(), raw)
            raise _failed(text, f"{error}{missing}") from error

    def _missing(self, names: frozenset[str], raw: _Values) -> str:
        """Return the message about secrets without a value."""
        if names and raw is None:
            return "; a ConfigMap is given no secrets: use secretExpressions"
        message = []
        for name in sorted(names):
            close = closest(name, self._version.exports.secrets)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            message.append(f"; there is no value for secret.{name}{hint}")
        return "".join(message)


def _failed(text: _Text, message: str) -> ExportExpressionError:
    return ExportExpressionError([Problem(text.at, message)])


def _destinations(obj: JsonObject, field: str) -> list[_Destination]:
    return [_destination(at, one) for at, one in expressions(obj, field)]


def _destination(at: str, one: JsonObject) -> _Destination:
    return _Destination(
        at=at,
        name=str(one.get("name") or ""),
        key=str(one.get("key") or ""),
        value=_Text(f"{at}.value", str(one.get("value") or "")),
        labels=_texts(f"{at}.labels", one.get("labels")),
        annotations=_texts(f"{at}.annotations", one.get("annotations")),
    )


def _texts(at: str, values: Any) -> dict[str, _Text]:
    given = values if isinstance(values, dict) else {}
    return {key: _Text(f"{at}[{key}]", str(text)) for key, text in given.items()}


def _completed(version: KindVersion, obj: JsonObject) -> JsonObject:
    """Return the object that expressions see as `self`, in Azure Service Operator's
    form.

    Its webhooks fill in defaults before evaluation, and an item of
    `userAssignedIdentities` always has a reference, if only an empty one. Here webhooks
    are optional, so both are filled in for the expressions alone. Never changes obj,
    may share parts with it. Pure, except for a random name that is not claimed yet
    (`names.azure_name`).
    """
    claimed = annotations(obj).get(RESOURCE_ID, "").rpartition("/")[2]
    whole = with_defaults(version, obj, claimed_name=claimed)
    if not spec(whole):
        return whole
    return {**whole, "spec": with_identity_references(spec(whole))}

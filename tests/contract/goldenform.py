"""Answers without their variable parts, to be recorded and compared.

Uids, resource versions, times, page tokens and the test's namespace are replaced by
names such as `uid-1` and `rv-2`. Equal values get equal names. A list's version is that
of the whole store, which other writes change, so it has no number.
"""

import re
from typing import Any

from contractclient import Answer, Json

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_VERSION_KEYS = {"resourceVersion", "Resource version"}
_IN_TEXT = re.compile(r"(precondition \(|in record \()(\d+)")
_STORE = re.compile(r"(?<=current: )\d+")
_COLUMN = "Custom resource definition column"
_OBJECT = re.compile(r"(Invalid value: )\"\{.*?\}\"(?=: [^\"{])", re.DOTALL)
_AGES = re.compile(r"\d+[sm](?:\d+s)?")


def _is_of_list(key: str, value: Json) -> bool:
    named = key != "metadata" or "name" in value
    return not named and value.get("resourceVersion", "0") != "0"


class Form:
    """The forms of one sequence of answers. A value keeps its name in the sequence."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._names: dict[str, str] = {}

    def exchange(self, request: str, answer: Answer) -> Json:
        """Return one request, as `METHOD PATH`, with its answer."""
        _, _, path = request.partition("//")
        method, path = request.partition(" ")[0], "/" + path.partition("/")[2]
        found: Json = {"request": self._text(f"{method} {path}")}
        found["status"] = answer.status
        for name in ("Warning", "Retry-After"):
            # A refusal may also warn about fields, but only as far as the body was
            # read, which varies.
            if name in answer.headers and answer.status < 400:
                found[name] = answer.headers[name]
        try:
            found["body"] = self._value("", answer.json)
        except ValueError:
            found["body"] = self._text(answer.text)
        return found

    def _value(self, key: str, value: Any) -> Any:
        if isinstance(value, dict):
            if len(value.get("causes") or ()) > 1:  # the order varies
                causes = sorted(value["causes"], key=str)
                value = {**value, "causes": causes}
            elif len((value.get("details") or {}).get("causes") or ()) > 1:
                value = {**value, "message": "<the causes>"}
            if _is_of_list(key, value):
                value = {**value, "resourceVersion": "<version>"}
            return {
                self._text(name): self._value(name, value[name])
                for name in sorted(value)
            }
        if isinstance(value, list):
            if key == "cells":
                return [self._cell(cell) for cell in value]
            found = [self._value(key, item) for item in value]
            if key == "managedFields":  # ordered by time
                found.sort(key=lambda one: (one["operation"], one["manager"], str(one)))
            return found
        if not isinstance(value, str):
            return value
        if key in _VERSION_KEYS and value.isdigit() and value != "0":
            return self._named("rv", value)
        if key == "continue" and value:
            return "<token>"
        if key == "description" and not value.startswith(_COLUMN):
            return "<prose>"
        return self._text(value)

    def _cell(self, cell: Any) -> Any:
        if not isinstance(cell, str):
            return cell
        return "<age>" if _AGES.fullmatch(cell) else self._text(cell)

    def _text(self, text: str) -> str:
        text = text.replace(self._namespace, "<namespace>")
        text = _UUID.sub(lambda found: self._named("uid", found[0]), text)
        text = _STORE.sub("<version>", text)
        text = _IN_TEXT.sub(lambda f: f[1] + self._named("rv", f[2]), text)
        text = re.sub(r"(?<=continue=)[\w%=-]{9,}", "<token>", text)
        text = re.sub(r"(?<=resourceVersion=)[1-9]\d+", "<version>", text)
        text = re.sub(r"(?<=key is not valid: ).*", "<why>", text)
        text = re.sub(r"(?<= is missing in )'.*", "<the object>", text)
        text = _OBJECT.sub(r"\1<the object>", text)
        return _TIME.sub("<time>", text)

    def _named(self, kind: str, value: str) -> str:
        known = sum(name.startswith(kind) for name in self._names.values())
        return self._names.setdefault(f"{kind} {value}", f"{kind}-{known + 1}")

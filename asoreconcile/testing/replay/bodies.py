"""Comparison of a sent body with the recorded one."""

import re
from collections.abc import Iterator
from typing import Any

# The recorder and the conversion wrote these in place of secrets and dates.
_ANY_TEXT = re.compile(
    r"\{(PASSWORD|REDACTED|KEY(:[0-9a-f]{8})?)\}"
    r"|IA=="
    r"|ssh-rsa \{KEY\}"
    r"|2001-02-03T04:05:06Z"
    r"|(redacted|user-[0-9a-f]+)@example\.com"
)


def differences(recorded: Any, sent: Any) -> list[str]:
    """Return the differences of two JSON values, as `path: sent, recorded`.

    The list is empty if the values are equal. A placeholder in the recorded value
    matches any text that is not empty.
    """
    return list(_unequal(recorded, sent, ""))


def _unequal(recorded: Any, sent: Any, path: str) -> Iterator[str]:
    if isinstance(recorded, dict) and isinstance(sent, dict):
        for name in sorted(recorded.keys() | sent.keys()):
            where = f"{path}.{name}" if path else name
            if name not in sent:
                yield f"{where}: missing, recorded {recorded[name]!r}"
            elif name not in recorded:
                yield f"{where}: sent {sent[name]!r}, recorded nothing"
            else:
                yield from _unequal(recorded[name], sent[name], where)
    elif isinstance(recorded, list) and isinstance(sent, list):
        if len(recorded) != len(sent):
            yield f"{path}: sent {len(sent)} items, recorded {len(recorded)}"
            return
        for index, pair in enumerate(zip(recorded, sent, strict=True)):
            yield from _unequal(*pair, f"{path}[{index}]")
    elif not _same(recorded, sent):
        yield f"{path or 'body'}: sent {sent!r}, recorded {recorded!r}"


def _same(recorded: Any, sent: Any) -> bool:
    if isinstance(recorded, str) and _ANY_TEXT.fullmatch(recorded):
        return isinstance(sent, str) and sent != ""
    # In Python True == 1, but not in JSON.
    return isinstance(recorded, bool) == isinstance(sent, bool) and recorded == sent

"""Keeps secrets out of texts: a registered value is replaced by `***`.

    register(password, namespace="shop")              # read from a Secret of `shop`
    redact("bad password 'hunter22'", namespace="shop")

All text that a server sends (errors of a cloud, of the API server, of an authority) and
all text that the process writes (conditions, events, log records) passes `redact`. A
value is found in the forms that texts quote values in: plain; base64 at any alignment,
standard or URL-safe; percent-, HTML- and JSON-escaped, several times over; in any
letter case; cut at either end. `forms` defines the forms and the shortest piece that
counts.

A namespace is a boundary: a value of one namespace is hidden only in texts about that
namespace, so that no tenant can hide texts of another tenant or guess its values.
Values without a namespace are the operator's own and are hidden in every text. In a log
record without a namespace the values of all namespaces are hidden.

Memory is bounded (`secret_registry`), and so is the time for one text: a text is cut at
MAX_TEXT characters, and a text in which almost everything looks like a secret is
replaced as a whole. Safe from any thread; never blocks for long. Imports nothing of
this package.
"""

import os

from asoreconcile.redaction.secret_registry import HIDDEN, MAX_TEXT, SecretRegistry

__all__ = ["HIDDEN", "MAX_TEXT", "SecretRegistry", "forget_all", "redact", "register"]

_REGISTRY = SecretRegistry()
# A forked process logs too. Without this, a lock that another thread holds at the fork
# would never be released there.
os.register_at_fork(
    before=_REGISTRY.hold,
    after_in_parent=_REGISTRY.let_go,
    after_in_child=_REGISTRY.let_go,
)

register = _REGISTRY.register
redact = _REGISTRY.redact
forget_all = _REGISTRY.forget_all

"""Secrets kept out of texts: what was sent or read as one is replaced by `***`.

    register(password, namespace="shop")              # read from a Secret of `shop`
    redact("bad password 'hunter22'", namespace="shop")

Whatever comes back (errors of a cloud, of the API server, of an authority) and whatever
goes out (conditions, events, log records) passes `redact`. A value is found as it is
and in the forms that texts quote values in: base64 at any alignment, standard or
URL-safe; percent-, HTML- and JSON-escaped, several times over; in any letter case; cut
at either end. `forms` says which, and how short a piece still counts.

A namespace is a boundary: what is known of one is hidden in its own texts alone, so
nobody can blot out, or find out by guessing, what others have. Values without a
namespace are the operator's own and are hidden everywhere. Log records that do not say
of which namespace they speak show nobody's.

Memory is bounded (`registry`), and so is the time for one text: it is cut at
MAX_TEXT characters, and one in which almost everything looks like a secret is hidden
whole. Safe from any thread; never blocks for long. Depends on nothing else of ours.
"""

import os

from asoreconcile.redaction.secret_registry import HIDDEN, MAX_TEXT, SecretRegistry

__all__ = ["HIDDEN", "MAX_TEXT", "SecretRegistry", "forget_all", "redact", "register"]

_REGISTRY = SecretRegistry()
# A forked process logs too: what another thread held at the fork would be held there
# for ever, and half written.
os.register_at_fork(
    before=_REGISTRY.hold,
    after_in_parent=_REGISTRY.let_go,
    after_in_child=_REGISTRY.let_go,
)

register = _REGISTRY.register
redact = _REGISTRY.redact
forget_all = _REGISTRY.forget_all

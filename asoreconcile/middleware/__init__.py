"""The extension points: where a kind's special cases hook into the reconcile.

An extension is a plain function `(request, call_next) -> result`, registered on an
`ExtensionSet` for a point and some kinds. `extension_points` names the points,
`requests` says what goes in and out, `context` what a reconcile offers, `chain` folds
the sets once at start, `factories` makes the common extensions in a line, `discovery`
loads sets that others ship.
"""

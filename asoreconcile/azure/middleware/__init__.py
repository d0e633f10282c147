"""The extension points: hooks of the reconcile for a kind's special cases.

An extension is a plain function `(request, call_next) -> result`, registered on an
`ExtensionSet` for a point and some kinds. `extension_points` names the points,
`requests` has the requests and results, `context` the services of a reconcile, `chain`
composes the sets once at start, `factories` makes the common extensions in a line,
`discovery` loads sets of other packages.
"""

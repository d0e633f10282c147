"""The extension points: the places of a reconcile at which a kind adds its special
cases.

An extension is a plain function `(request, call_next) -> result`, registered on an
`ExtensionSet` for a point and some kinds. `extension_points` names the points,
`requests` defines requests and results, `context` the services of a reconcile. `chain`
composes the sets once at start, `factories` builds the common extensions, `discovery`
loads sets from other packages.
"""

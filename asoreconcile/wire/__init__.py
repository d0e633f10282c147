"""The HTTP layer of both clients, over libcurl.

    HandlePool.exchange -> a free CurlHandle -> libcurl -> WireAnswer, or WireError

A pool belongs to one server and talks to no other: no redirect is followed, no password
file read, no proxy taken from the environment, and no protocol spoken but HTTP over
TLS (in tests without). All waits of a request end with its `call_limit.Call`.
"""

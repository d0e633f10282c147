"""Connections to servers: one module for each driver, imported when it is needed.

Each driver signs in over TLS that verifies the server, and raises `ServerError` for
failures. Connecting takes at most `CONNECT_SECONDS`, and each response to the sign-in
as long, or `STATEMENT_SECONDS` if the driver has one limit for all responses (PyMySQL).
"""

from asoreconcile.base import extras

extras.require_extra("azure", "asoreconcile.azure.sql_users.drivers")

"""What talks to servers: one module for each driver, imported when it is needed.

Each signs in over TLS that verifies the server, and says with a `ServerError` what went
wrong. To connect takes `CONNECT_SECONDS` at most, an answer to the sign-in as long, or
`STATEMENT_SECONDS` where the driver knows one limit for all answers (PyMySQL).
"""

from asoreconcile.base import extras

extras.need("azure", "asoreconcile.azure.sql_users.drivers")

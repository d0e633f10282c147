"""What talks to servers: one module for each driver, imported when it is needed.

Each signs in over TLS that verifies the server, within `CONNECT_SECONDS`, and says with
a `ServerError` what went wrong.
"""

from asoreconcile import extras

extras.need("azure", "asoreconcile.sql_users.drivers")

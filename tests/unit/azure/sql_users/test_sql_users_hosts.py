"""Whether a certificate of Azure SQL is for the host that is asked for."""

import pytest
from cryptography import x509

from asoreconcile.azure.sql_users.drivers.azure_sql import is_for_host
from asoreconcile.testing.throwaway_certificates import certificate_authority


@pytest.mark.parametrize(
    ("names", "host", "is_it"),
    [
        (["db.database.windows.net"], "db.database.windows.net", True),
        (["db.database.windows.net"], "DB.database.windows.net.", True),
        (["*.database.windows.net"], "db.database.windows.net", True),
        (["*.database.windows.net"], "a.b.database.windows.net", False),
        (["*.database.windows.net"], "database.windows.net", False),
        (["*.net"], "windows.net", False),
        (["Ndb.example.org"], "db.example.org", False),
        (["xdb.example.org"], "db.example.org", False),
        (["127.0.0.1"], "127.0.0.1", True),
    ],
)
def test_a_certificate_is_for_its_alternative_names(names, host, is_it):
    pem, _ = certificate_authority("sql").issue(names)
    certificate = x509.load_pem_x509_certificates(pem)[0]
    assert is_for_host(certificate, host) is is_it

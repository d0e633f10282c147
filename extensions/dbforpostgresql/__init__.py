"""Special cases of dbforpostgresql: Azure Database for PostgreSQL."""

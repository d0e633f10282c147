"""Special cases of dbformysql: Azure Database for MySQL."""

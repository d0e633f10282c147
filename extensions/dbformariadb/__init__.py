"""Special cases of dbformariadb: Azure Database for MariaDB."""

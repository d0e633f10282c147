-- name: account
-- The columns: name, host, plugin; whether it is locked, its password has expired, its
-- limit of connections keeps it out.
SELECT User, Host, plugin, account_locked = 'Y',
  password_expired = 'Y' OR COALESCE(
    COALESCE(password_lifetime, @@default_password_lifetime) > 0
    AND password_last_changed < NOW() - INTERVAL
      COALESCE(password_lifetime, @@default_password_lifetime) DAY, FALSE),
  FALSE
FROM mysql.user WHERE User = :name AND Host = :host

-- name: account_of_mariadb
-- MariaDB has the same in a document. A lifetime of -1 means the server's default.
SELECT accounts.User, accounts.Host, accounts.plugin,
  COALESCE(JSON_VALUE(more.Priv, '$.account_locked') IN ('1', 'true'), FALSE),
  accounts.password_expired = 'Y' OR COALESCE(
    COALESCE(NULLIF(JSON_VALUE(more.Priv, '$.password_lifetime') + 0, -1),
      @@default_password_lifetime) > 0
    AND FROM_UNIXTIME(JSON_VALUE(more.Priv, '$.password_last_changed')) < NOW()
      - INTERVAL COALESCE(NULLIF(JSON_VALUE(more.Priv, '$.password_lifetime') + 0, -1),
        @@default_password_lifetime) DAY, FALSE),
  accounts.max_user_connections < 0
FROM mysql.user AS accounts
JOIN mysql.global_priv AS more
  ON more.User = accounts.User AND more.Host = accounts.Host
WHERE accounts.User = :name AND accounts.Host = :host

-- name: roles
SELECT FROM_USER, FROM_HOST FROM mysql.role_edges
WHERE TO_USER = :name AND TO_HOST = :host

-- name: roles_of_mariadb
SELECT Role, '' FROM mysql.roles_mapping WHERE User = :name AND Host = :host

-- name: role_powers
-- MariaDB does not list the privileges of roles in information_schema.
SELECT 'Y' IN (Create_user_priv, File_priv, Grant_priv, Super_priv)
FROM mysql.user WHERE User = :name AND Host = :host

-- name: granted
SELECT grantee, '', privilege_type, is_grantable
FROM information_schema.user_privileges
WHERE grantee = :grantee AND privilege_type <> 'USAGE'
UNION ALL
SELECT grantee, table_schema, privilege_type, is_grantable
FROM information_schema.schema_privileges WHERE grantee = :grantee
UNION ALL
SELECT grantee, '', '', is_grantable
FROM information_schema.user_privileges
WHERE grantee = :grantee AND privilege_type = 'USAGE'

-- name: role
SELECT CAST(oid AS text), rolcanlogin, rolcreaterole, rolcreatedb, rolreplication,
  rolsuper, rolbypassrls, rolname = session_user, rolconnlimit = 0,
  rolvaliduntil IS NOT NULL AND rolvaliduntil <= now()
FROM pg_catalog.pg_roles WHERE rolname = :name

-- name: member_of
SELECT DISTINCT granted.rolname
FROM pg_catalog.pg_auth_members AS membership
JOIN pg_catalog.pg_roles AS granted ON granted.oid = membership.roleid
JOIN pg_catalog.pg_roles AS member ON member.oid = membership.member
WHERE member.rolname = :name

-- name: above
-- All roles above a role, each with the role that leads to it.
WITH RECURSIVE above(role, via) AS (
  SELECT membership.roleid, granted.rolname
  FROM pg_catalog.pg_auth_members AS membership
  JOIN pg_catalog.pg_roles AS granted ON granted.oid = membership.roleid
  JOIN pg_catalog.pg_roles AS member ON member.oid = membership.member
  WHERE member.rolname = :name
  UNION
  SELECT membership.roleid, above.via
  FROM pg_catalog.pg_auth_members AS membership
  JOIN above ON membership.member = above.role
)
SELECT above.via, found.rolname,
  found.rolsuper OR found.rolcreaterole OR found.rolreplication OR found.rolbypassrls
FROM above JOIN pg_catalog.pg_roles AS found ON found.oid = above.role

-- name: user
-- The database compares the name as its collation says.
SELECT users.type, users.authentication_type_desc, users.name,
  CONVERT(nvarchar(200), users.sid, 1),
  CASE WHEN users.name = USER_NAME() THEN N'yes' ELSE N'' END,
  CASE WHEN EXISTS (
    SELECT 1 FROM sys.database_permissions AS given
    WHERE given.grantee_principal_id = users.principal_id
      AND given.class = 0 AND given.type = 'CO' AND given.state IN ('G', 'W')
  ) THEN N'yes' ELSE N'' END,
  CASE WHEN EXISTS (
    SELECT 1 FROM sys.database_permissions AS given
    WHERE given.grantee_principal_id = users.principal_id
      AND given.class = 0 AND given.type IN ('CL', 'ALUS', 'ALRL')
      AND given.state IN ('G', 'W')
  ) THEN N'yes' ELSE N'' END
FROM sys.database_principals AS users WHERE users.name = :name

-- name: sees_users
-- Without this right the view above shows no other users.
SELECT CASE WHEN HAS_PERMS_BY_NAME(DB_NAME(), 'DATABASE', 'ALTER ANY USER') = 1
  THEN N'yes' ELSE N'' END

-- name: member_of
SELECT granted.name
FROM sys.database_role_members AS membership
JOIN sys.database_principals AS granted
  ON granted.principal_id = membership.role_principal_id
JOIN sys.database_principals AS member
  ON member.principal_id = membership.member_principal_id
WHERE member.name = :name

-- name: above
-- All roles above a user, each with the role that leads to it.
WITH above AS (
  SELECT membership.role_principal_id AS role, granted.name AS via
  FROM sys.database_role_members AS membership
  JOIN sys.database_principals AS granted
    ON granted.principal_id = membership.role_principal_id
  JOIN sys.database_principals AS member
    ON member.principal_id = membership.member_principal_id
  WHERE member.name = :name
  UNION ALL
  SELECT membership.role_principal_id, above.via
  FROM sys.database_role_members AS membership
  JOIN above ON membership.member_principal_id = above.role
)
SELECT DISTINCT above.via, found.name
FROM above JOIN sys.database_principals AS found ON found.principal_id = above.role

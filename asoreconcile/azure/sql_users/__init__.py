"""Users of databases: PostgreSQL, MySQL and Azure SQL.

    spec, Secrets -> what is wanted --+
                                      +-> statements -> a session -> facts again
    a session ----> facts ------------+

`postgresql`, `mysql` and `azure_sql` decide, each for its own SQL, and do nothing;
`drivers` talk, `sessions` keeps connections, `resource` puts them together for a
reconcile. What reaches a server is a keyword of ours, or quoted by `quoting`.
"""

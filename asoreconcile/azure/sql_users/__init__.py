"""Users of databases: PostgreSQL, MySQL and Azure SQL.

    spec, Secrets -> desired user ----+
                                      +-> statements -> a session -> facts again
    a session ----> facts ------------+

`postgresql`, `mysql` and `azure_sql` decide, each for its own SQL, without side
effects; `drivers` connect, `sessions` keeps connections, `resource` combines them for a
reconcile. Every text in a statement is a fixed keyword, or was quoted by `quoting`.
"""

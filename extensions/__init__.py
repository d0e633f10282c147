"""Special cases of Azure, kind by kind; `registry` lists them, README tells how."""

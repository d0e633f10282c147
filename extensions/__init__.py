"""Special cases of Azure, kind by kind; `registry` finds them, README tells how."""

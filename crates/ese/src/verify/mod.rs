//! Are these files intact? Read-only judgement of databases and logs.

"""The memory database: engines and pragmas, transactions, table metadata, migrations."""

"""The ledger in machine code: how planners reach models with a compiled step."""

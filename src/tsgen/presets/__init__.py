"""Settings that go together, as TOML files with a table for each stage or system."""

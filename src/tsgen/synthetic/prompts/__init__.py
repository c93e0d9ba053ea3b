"""Few-shot prompts as TOML files; see `prompt`."""

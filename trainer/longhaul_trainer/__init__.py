"""The update job in PyTorch: docs/decisions/jobs.md is its protocol, README.md beside this package says what is where. Its losses are
those of the embedded trainer (tiny/nn), held to the same vectors."""

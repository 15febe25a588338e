"""The fuzzer: random calls against the invariants, and planted bugs that it must catch."""

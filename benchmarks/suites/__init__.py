"""Public question sets and made haystacks: read, made, run."""

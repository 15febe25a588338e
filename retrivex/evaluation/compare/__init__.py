"""Results of the same questions in, differences and how sure they are out."""

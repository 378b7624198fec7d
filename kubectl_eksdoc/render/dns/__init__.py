"""Whether DNS survives its nodes, in every format."""

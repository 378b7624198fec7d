"""A measurement of DNS, in every format: what would be made and done, and what came of it, second by second."""

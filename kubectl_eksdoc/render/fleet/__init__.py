"""Many clusters judged together, in every format."""

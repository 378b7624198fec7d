"""What must be allowed for commands, and who has it, in every format."""

"""What a contract is read from: files with line positions, the references between them, and the project's configuration."""

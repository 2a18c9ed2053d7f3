"""Reading of a project file."""

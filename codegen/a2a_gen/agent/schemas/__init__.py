"""Schema files of a project: reading, checks, and the catalog of what the skills reach."""

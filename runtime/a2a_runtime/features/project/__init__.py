"""Reading of a project file (``a2a.toml``).

loader ───── load_project: the file and the environment ──► surfaces and settings
  │
surfaces ─── surfaces from tables, for apps and for generated packages
auth ─────── gates from the tables [auth.*]
tables ───── the other tables, typed
errors ───── problems, each with its line
"""

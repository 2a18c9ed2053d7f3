"""Reading of a project file (``a2a.toml``).

Loaded where the app is made of an ``a2a.toml``.

loader ───── load_project: the file and the environment ──► surfaces and settings
  │
surfaces ─── surfaces from tables, for apps and for generated packages
auth ─────── gates from the tables [auth.*]
file ─────── the text as models that are generated from its schema
errors ───── problems, each with its line
app ──────── the app of a folder
"""

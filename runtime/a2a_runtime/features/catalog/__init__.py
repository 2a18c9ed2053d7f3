"""The catalog of an app: the document that lists its agents, and its route.

Loaded always, for the list of agents at the root of an app.
"""

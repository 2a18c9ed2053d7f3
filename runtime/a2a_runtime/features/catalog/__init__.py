"""The catalog of an app: the document that lists its agents, and its route."""

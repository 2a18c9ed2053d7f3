"""The server of a process: uvicorn with bounds on connections, a delay before it stops, and the
error of a start that fails.

Loaded where ``a2a-gen serve`` runs the app.

``a2a-gen serve`` and the bridges run it.
"""

"""The OpenAPI document of an app, and its page.

Loaded always, for the document of the routes.
"""

"""The OpenAPI document of an app, and its page."""

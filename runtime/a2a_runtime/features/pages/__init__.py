"""HTML pages for browsers.

Loaded where an app has agents and nothing else.
"""

"""HTML pages for browsers."""

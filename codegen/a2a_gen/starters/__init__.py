"""Projects to start from, as files to copy: ``init`` takes the ``.in`` off their names and puts a
project's own name into them.
"""

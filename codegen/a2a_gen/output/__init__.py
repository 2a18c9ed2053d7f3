"""From files in memory to files on disk: stage, tidy, try, publish, lock. The only step that writes.

stage   a folder beside the output, on the same file system
tidy    one run of ruff over the stage
trial   every staged module is imported in a fresh interpreter
publish replaces what differs, removes own orphans, or leaves everything as it was
lock    what went in and what came out, so that the next build can see that nothing changed
"""

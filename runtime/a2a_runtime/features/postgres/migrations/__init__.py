"""The schema of the database, one file for each version, forward only; a file that has been
released never changes.

Processes of the release before go on while a file is applied. So a file is a sequence of steps,
each begun by a line of its own, and all of it can be repeated after a failure:

    -- step                  statements in one transaction, which waits for locks only shortly:
                             the statements behind it wait too
    -- step: concurrently    one statement outside of a transaction, such as an index
                             that is built without a lock on the writers of its table

A file without such lines is one step. A new column has a default or is NULL, and nothing that the
release before uses goes away.
"""

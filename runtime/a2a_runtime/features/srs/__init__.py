"""Forms of the apcore SRS: calls and answers beside those of 0.3.

Loaded where a surface has the variant ``srs_forms``.
"""

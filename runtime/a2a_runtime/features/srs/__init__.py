"""Forms of the apcore SRS: calls and answers beside those of 0.3."""

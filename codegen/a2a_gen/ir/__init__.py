"""The intermediate form of a contract: its shape, its builder, the names in it, and the checks that everything in it fits together."""

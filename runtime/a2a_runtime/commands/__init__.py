"""What the runtime adds to ``a2a-gen``: one file per command, loaded only when it is named."""

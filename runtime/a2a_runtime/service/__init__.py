"""What an agent can be asked, answered once for all dialects and bindings, in the canonical model."""

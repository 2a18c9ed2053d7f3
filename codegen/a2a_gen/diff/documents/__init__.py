"""Documents that decide: containment of one schema in another, its proof, and witnesses."""

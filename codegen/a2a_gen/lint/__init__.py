"""What a contract may not say, because code could not keep it or would lose it in silence: rules, and the form of every table."""

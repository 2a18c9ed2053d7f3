"""``python -m a2a_gen``."""

import sys

from a2a_gen.entry import main

if __name__ == "__main__":
    sys.exit(main())

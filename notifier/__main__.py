"""`python -m notifier` runs one pod."""

import sys

from notifier.pod import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m kenoweb COMMAND`: the same as `keno COMMAND`, wherever it is installed."""

import sys

from kenoweb.launcher.startup import main

if __name__ == "__main__":
    sys.exit(main())

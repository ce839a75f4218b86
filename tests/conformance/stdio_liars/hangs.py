"""Never answers anything."""

import sys

for _ in sys.stdin:
    sys.stderr.write("thinking\n")
    sys.stderr.flush()

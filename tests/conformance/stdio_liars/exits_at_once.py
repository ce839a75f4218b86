"""Never gets as far as hello."""

import sys

sys.exit("no licence file")

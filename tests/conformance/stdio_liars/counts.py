"""Is honest, and tells its process id."""

import os

from honest import HELLO, run

run(hello=lambda _: {**HELLO, "version": str(os.getpid())})

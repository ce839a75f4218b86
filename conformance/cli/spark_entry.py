"""For spark-submit: `spark-submit … spark_entry.py check DIR` is `fencepost corpus check DIR`.

Decides nothing but the engine: Spark, with the master and the settings that spark-submit was given.
`fencepost corpus entry-point` tells where this file is.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file, whose modules are imported by their whole names
    from fencepost.conformance.cli.cli import main

    main(["corpus", *sys.argv[1:], "--engine", "spark"])

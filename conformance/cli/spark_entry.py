"""For spark-submit: `spark-submit … spark_entry.py check DIR` runs `fencepost corpus check DIR`.

`… spark_entry.py simulate SCENARIO` runs `fencepost simulate SCENARIO`.  The engine is Spark, with
the master and the settings of spark-submit.  `fencepost corpus entry-point` prints the path of this
file.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file, whose modules are imported by their whole names
    from fencepost.conformance.cli.cli import main

    group = [] if sys.argv[1:2] == ["simulate"] else ["corpus"]
    main([*group, *sys.argv[1:], "--engine", "spark"])

"""The entry point of `tsgen` and of `python -m tsgen`: Ctrl-C is quiet even while things load."""

import gc
import sys

from tsgen.parallel import leave


def run() -> None:
    """Load the command line and run it."""
    try:
        from tsgen.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        leave()
        gc.freeze()  # the process ends: nobody needs the memory that a last collection would find


if __name__ == "__main__":
    run()

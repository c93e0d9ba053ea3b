"""Run every benchmark in this folder, one after the other.

python benchmarks/run_all.py [--list]
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    """List the scripts or run them; the exit code is the number of those that failed."""
    scripts = sorted(set(HERE.glob("[!_]*.py")) - {Path(__file__).resolve()})
    if "--list" in sys.argv:
        print("\n".join(script.name for script in scripts))
        return 0
    failed = 0
    for script in scripts:
        print(f"\n== {script.name}", flush=True)
        failed += subprocess.run([sys.executable, script], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""All benchmarks of speed with one command; each part goes on where it was interrupted.

    python benchmarks/run_all.py [DATA …] [--only latency,bulk,growth,serving,decoding] [--quick]
                                 [--peer REVISION] [--out docs/results] [--list]

DATA are data sets, e.g. the folders of wiki-10k and wikipages-110k; without any, the documentation
of Python's standard library. `--only` takes other scripts of this folder by name, too. The parts:

- latency: quality, time, memory and size of ours and of the systems that others would use;
- bulk: many queries at once, beside the encoder alone;
- growth: 10,000 to 10,000,000 synthetic documents;
- serving: the server under load, beside the revision --peer, if one is given;
- decoding: the paper's own search beside transformers' `generate` (needs wikipages-110k).
"""

import subprocess
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

HERE = Path(__file__).resolve().parent
PARTS = ("latency", "bulk", "growth", "serving", "decoding")
REAL = "wikipages-110k"  # the data set of the paper's size, which `decoding` takes


def main() -> int:
    """List the scripts or run some; the exit code is the number of those that failed."""
    options = _arguments()
    scripts = {path.stem: path for path in sorted(HERE.glob("[!_]*.py"))}
    del scripts[Path(__file__).stem]
    if options.list:
        print("\n".join(path.name for path in scripts.values()))
        return 0
    chosen = options.only.split(",")
    if unknown := [name for name in chosen if name not in scripts]:
        raise SystemExit(f"--only {','.join(unknown)}: expected some of {', '.join(scripts)}")
    failed = 0
    for name in chosen:
        for arguments in _calls(name, options):
            print(f"\n== {name}.py {' '.join(arguments)}", flush=True)
            command = [sys.executable, str(scripts[name]), *arguments]
            failed += subprocess.run(command, check=False).returncode != 0
    return failed


def _arguments() -> Namespace:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=["stdlib:"])
    parser.add_argument("--only", default=",".join(PARTS), help="parts, comma-separated")
    parser.add_argument("--peer", help="a commit of this repository, for `serving`")
    parser.add_argument("--out", default=str(HERE.parent / "docs" / "results"))
    parser.add_argument("--quick", action="store_true", help="small sizes, short times")
    parser.add_argument("--list", action="store_true", help="name the scripts and end")
    return parser.parse_args()


def _calls(name: str, options: Namespace) -> list[list[str]]:
    """The arguments of each call of a script."""
    if name not in PARTS:
        return [[]]
    out, quick = ["--out", options.out], ["--quick"] * options.quick
    if name in ("latency", "bulk"):
        few = ["--queries", "50"] if options.quick else []
        return [[*options.data, *few, *out]]
    if name == "growth":
        return [[*quick, "--resume", *out]]
    if name == "serving":
        peer = ["--peer", options.peer] if options.peer else []
        return [[options.data[0], *peer, *quick, *out]]
    real = [Path(path) for path in options.data if Path(path).name == REAL]
    if not real:
        print(f"\n== decoding: without {REAL} among the data sets there is nothing to measure")
    return [["--data", str(path.parent), "--resume", *quick, *out] for path in real]


if __name__ == "__main__":
    sys.exit(main())

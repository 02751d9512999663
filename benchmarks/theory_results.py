"""Promised and measured: writes docs/results/theory (an hour and a half on two cores).

    python benchmarks/theory_results.py [--out DIR] [--workers N] [--quiet]

Points are kept in points.jsonl; it goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from theory_figures import result_figures
from theory_rows import report, rows
from theory_studies import measure_all

from platypoos.lab.theory.measure import Notebook

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "theory"


def reproduce(out: Path, *, workers: int = 1, quiet: bool = False) -> int:
    """Measure what is missing; write its figures and tables."""
    status = 0
    try:
        measure_all(out, workers=workers, quiet=quiet)
    except KeyboardInterrupt:
        print("interrupted; what is done is kept, run it again to go on", file=sys.stderr)
        status = 130
    found = rows(Notebook(out / "points.jsonl"))
    page = out / "README.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(report(found), encoding="utf-8")
    for path in [*result_figures(out, found), page]:
        print(path)
    return status


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="directory (%(default)s)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="(all cores)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    args = parser.parse_args(arguments)
    if args.workers < 1:
        parser.error(f"--workers must be at least 1, got {args.workers}")
    return reproduce(args.out, workers=args.workers, quiet=args.quiet)


if __name__ == "__main__":
    sys.exit(main())

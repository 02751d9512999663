"""``python -m platypoos``: the command line."""

from platypoos.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())

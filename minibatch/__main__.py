"""`python -m minibatch`: everything the app can do, without a browser."""

from __future__ import annotations

import argparse
import os
import sys

from minibatch.commands import (
    bench,
    bench_player,
    bench_sweep,
    calibrate,
    claims,
    compare,
    engines,
    export,
    hardware,
    lesson,
    record,
    reproduce,
    run,
    show,
    site,
    sweep,
    validate,
    verify,
)
from minibatch.commands.terminal import fail

COMMANDS = (
    compare,
    run,
    sweep,
    show,
    validate,
    export,
    verify,
    engines,
    hardware,
    claims,
    lesson,
    site,
    reproduce,
    calibrate,
    bench,
    bench_player,
    bench_sweep,
    record,
)


def command_line() -> argparse.ArgumentParser:
    """Every command with its options."""
    parser = argparse.ArgumentParser(prog="minibatch", description=__doc__)
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(subparsers)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit status is 0, 1 where something is wrong, 2 for input that can't be used."""
    options = command_line().parse_args(arguments)
    try:
        status: int = options.execute(options)
        return status
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError, MemoryError) as error:
        return fail(error)
    except KeyboardInterrupt:
        print("\nminibatch: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())

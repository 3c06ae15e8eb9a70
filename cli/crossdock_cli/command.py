"""How verbs look and fail: examples before flags, and the nearest name for a misspelled one.

A verb's module is imported when the verb is used, so that `crossdock --help` stays quick.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Verb(click.Command):
    """A command whose help begins with examples."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        format_examples(self.examples, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)
        self.format_epilog(ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            names = [name for param in self.get_params(ctx) for name in param.opts]
            close = difflib.get_close_matches(error.option_name, names, n=1)
            raise click.NoSuchOption(error.option_name, None, close, ctx) from None


class Verbs(Verb, click.Group):
    """A group of verbs; `verbs` maps a name to the module whose `command` it is."""

    def __init__(self, *args: Any, verbs: dict[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.modules = verbs or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.modules, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.modules:
            return super().get_command(ctx, cmd_name)
        command = importlib.import_module(self.modules[cmd_name]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            close = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


def verb(name: str, **settings: Any) -> Callable[[Callable[..., Any]], Verb]:
    """The decorator of a verb; how it shows help it has from the group that it is called by."""
    return click.command(name, cls=Verb, **settings)


class Word(click.Choice[str]):
    """One of a few words; a misspelled one is answered with the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        words = [str(choice) for choice in self.choices]
        if value in words:
            return str(value)
        close = difflib.get_close_matches(str(value), words, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise click.BadParameter(f"{value!r} is not one of {', '.join(words)}.{hint}", ctx, param)


JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON with a schema_version.")
THREADS = click.option("--threads", type=click.IntRange(0), metavar="N",
                       help="Worker threads; 0 means one per core.")  # fmt: skip
MEMORY = click.option("--memory", metavar="SIZE", help="Memory budget, such as 8GiB.")
WHERE = click.option("--where", metavar="EXPR",
                     help="Rows to take: \"qty > 10 and mode = 'AIR'\".")  # fmt: skip


def all_of(*options: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """Options as one decorator, which help lists in this order."""

    def decorate(function: Decorated) -> Decorated:
        decorated: Any = function
        for option in reversed(options):  # click lists them in the reverse of their order
            decorated = option(decorated)
        return decorated  # type: ignore[no-any-return]

    return decorate


def format_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Writes the examples as they would be typed."""
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")

"""The jobs of the command line, described without importing what they run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from jaxbench.errors import BadRequest
from jaxbench.options.describe import DESCRIBE
from jaxbench.options.mechanism_help import choices_help
from jaxbench.options.option import Option, check_name, help_table
from jaxbench.options.sweep import SWEEP
from jaxbench.options.table import ATTACK

CARD = """
card: the benchmark's own published protocol (in brackets that of terminal_science),
then what stands without one.
"""


STATUS = """
One line per run directory: job, what it ran on, state, and when it was last written. A sweep also
says how many of its shards and trials are done, and by which command it goes on.

  done        everything was written
  unfinished  a sweep that is running, or was stopped
  damaged     a file that belongs to the run is missing or cannot be read
"""


STUDIES = """
A study is a YAML file; the header of each in `sweeps/` says what it asks. Finished shards are kept:
after an interruption the same command with resume=true goes on.
"""


@dataclass(frozen=True)
class Job:
    """One command: its line in the overview, its options, and where it lives.

    `list_options` are those of text that may also be several, in brackets. A job with `words` (how
    its usage spells them) takes names instead of options, in the option `words`, and Hydra has no
    part in it.
    """

    name: str
    summary: str
    module: str
    options: tuple[Option, ...]
    path_options: frozenset[str] = frozenset({"path", "items", "out"})
    text_options: frozenset[str] = frozenset({"benchmark", "score"})
    list_options: frozenset[str] = frozenset({"score"})
    help_note: str = ""
    words: str = ""

    def check_option(self, name: str) -> None:
        """Refuse an option that this job does not have."""
        check_name(name, self.options)

    def check_words(self, words: Sequence[str]) -> list[str]:
        """The words of a job that takes no options.

        **Errors:** `BadRequest` for none at all, and for a flag.
        """
        for word in words:
            if word.startswith("-"):
                raise BadRequest(f"unknown flag {word}; expected {self.words}")
        if not words:
            raise BadRequest(f"expected {self.words}: name at least one")
        return list(words)

    def options_help(self) -> str:
        """The options, one after the other."""
        return help_table(self.options)

    def run(self, options: Mapping[str, object], command: str, several: bool) -> None:
        """Import the job and run it (this is where jax comes in).

        **Arguments:** `command`: the command line that runs this job, for the record; `several`:
        it is one of several, and says which.
        """
        import_module(self.module).run(options, command, several)


JOBS = {
    job.name: job
    for job in (
        Job(
            name="attack",
            summary="how fast random routers climb the leaderboard, and what that costs",
            module="jaxbench.jobs.attack_command",
            options=ATTACK,
            text_options=frozenset(
                {"benchmark", "score", "routing_seed", "tie_seed", "group_seed"}
            ),
            help_note=choices_help() + "\n" + CARD,
        ),
        Job(
            name="describe",
            summary="how finely a leaderboard ranks its models, and what first place hangs on",
            module="jaxbench.jobs.describe_command",
            options=DESCRIBE,
            help_note=CARD,
        ),
        Job(
            name="sweep",
            summary="a named study: many conditions, in shards that survive whatever stops them",
            module="jaxbench.jobs.sweep_command",
            options=SWEEP,
            path_options=frozenset({"path", "items", "out", "study"}),
            text_options=frozenset(
                {"benchmark", "score", "routing_seed", "tie_seed", "group_seed"}
            ),
            list_options=frozenset({"score", "benchmark", "path"}),
            help_note=choices_help() + "\n" + STUDIES,
        ),
        Job(
            name="list",
            summary="benchmarks that go by a name, and whether their files are here",
            module="jaxbench.jobs.list_command",
            options=(),
        ),
        Job(
            name="status",
            summary="how far runs are, and how an unfinished sweep goes on",
            module="jaxbench.jobs.status_command",
            options=(),
            help_note=STATUS,
            words="RUN [RUN ...]",
        ),
    )
}

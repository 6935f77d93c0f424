"""The jobs of the command line, described without importing what they run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from jaxbench.options import check_name
from jaxbench.options.table import help_table


@dataclass(frozen=True)
class Job:
    """One command: its line in the overview, its options, and where it lives."""

    name: str
    summary: str
    module: str
    check_option: Callable[[str], None]
    options_help: Callable[[], str]
    path_options: frozenset[str]
    text_options: frozenset[str]

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
            check_option=check_name,
            options_help=help_table,
            path_options=frozenset({"path", "out"}),
            text_options=frozenset({"routing_seed", "tie_seed", "group_seed"}),
        ),
    )
}

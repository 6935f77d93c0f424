"""What the catalogue says about one benchmark."""

from dataclasses import dataclass

# The host that downloads come from; JAXBENCH_MIRROR takes its place.
HOST = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class SourceFile:
    """A file of a public repository, pinned by commit, hash and length.

    `repository` is `OWNER/NAME/COMMIT`, `path` the file's path in it.
    """

    repository: str
    path: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """The file's own name, which it keeps in the cache."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def address(self) -> str:
        """Where the file is published."""
        return f"{HOST}/{self.repository}/{self.path}"


@dataclass(frozen=True)
class Named:
    """A benchmark that comes with the package (no `files`) or is downloaded once.

    `licence` and `citation` are those of the outcomes; `notes` are sentences that belong wherever
    results are shown, `on_models` those of them that name models (left out where names are);
    `aliases` are folder names under which an offline folder may hold it.
    """

    name: str
    summary: str
    models: int
    items: int
    tasks: int
    licence: str
    citation: str = ""
    source: str = ""
    files: tuple[SourceFile, ...] = ()
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    on_models: tuple[str, ...] = ()

    @property
    def bundled(self) -> bool:
        """Whether it comes with the package."""
        return not self.files

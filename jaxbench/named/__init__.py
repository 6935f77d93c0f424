"""Benchmarks that go by a name: what they are, where their files are. Imports no jax, no pandas."""

from jaxbench.named.catalogue import bundled_names as bundled_names
from jaxbench.named.catalogue import catalogue as catalogue
from jaxbench.named.catalogue import find as find
from jaxbench.named.catalogue import snapshot as snapshot
from jaxbench.named.downloadable import DOWNLOADABLE as DOWNLOADABLE
from jaxbench.named.entry import Named as Named
from jaxbench.named.entry import SourceFile as SourceFile
from jaxbench.named.places import Found as Found
from jaxbench.named.places import obtain as obtain
from jaxbench.named.places import state as state

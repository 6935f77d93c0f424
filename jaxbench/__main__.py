"""`python -m jaxbench`."""

from jaxbench.cli import entry

if __name__ == "__main__":
    entry()

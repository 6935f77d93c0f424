"""The commands: one thin module each, and the catalogue that describes them."""

"""A script for each table and figure of the papers; `make papers` runs them all."""

"""All sets of low orders as candidates, each with a spike-and-slab prior."""

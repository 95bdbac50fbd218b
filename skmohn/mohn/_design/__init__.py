"""Products of inputs."""

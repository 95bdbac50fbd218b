"""Few weights: found, chosen, learned."""

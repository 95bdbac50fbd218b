"""Few weights: found, chosen, learnt."""

"""What HeteroSpec alone needs: bins of cumulative entropy (strata), and how they are learnt."""

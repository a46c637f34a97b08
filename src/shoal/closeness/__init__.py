"""t-closeness constructions: buckets, Anatomy, stochastic t-closeness, slicing, the bridge to epsilon."""

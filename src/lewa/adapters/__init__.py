"""Use lewa with other libraries: gymnasium, river, the Open Bandit Pipeline, OpenFeature and LiteLLM."""

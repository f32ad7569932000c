"""What an agent knows of a request: features of its context, advice of policies, predictions of regressors."""

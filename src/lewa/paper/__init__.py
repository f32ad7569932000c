"""The claims of the paper, the rules that decide them, and their studies."""

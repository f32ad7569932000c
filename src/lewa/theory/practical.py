"""The learners with a paced price have no bound, but a certificate that holds on every path.

The certificate (docs/theory_practical.md): for any forecasts, V + sum_t k_t <= lambda u^2/step + E, where V is the
violation, k_t the part of the debt that a round was to pay back, and E the sum of costs minus their forecasts. Computing E
is as hard as computing V, so a run reports its debt, which is V, and not the certificate.
"""

CERTIFICATE = (
    "its constants were chosen by measurements, and no bound on regret or violation is proved; its debt is measured "
    "during a run (docs/theory_practical.md)"
)

"""What is proved of the learners with a paced price: no bound, and a certificate that holds on every path.

The certificate (docs/theory_practical.md): for any forecasts, V + sum_t k_t <= lambda u^2/step + E, where V is the
violation, k_t the part of the debt that a round was asked to pay back, and E the sum of costs less their forecasts. Who
knows E knows V: so a run shows its debt, which is V, and the certificate is not computed.
"""

from lewa.theory.guarantees import Guarantee, none

CERTIFICATE = (
    "its constants were chosen by measurements, and no bound on regret or violation is proved; its debt is measured "
    "during a run (docs/theory_practical.md)"
)


def paced(source: str) -> tuple[Guarantee, ...]:
    """State that nothing is proved in advance of a learner with a paced price."""
    return (none(source, CERTIFICATE),)

"""(C) of the note, checked on paths: V + sum clip <= lam b^2/mu + E, full box."""
from pb import *
for n in ("energy_geo_carbon", "flusight_2023_24", "wireless_sigfox_power"):
    w = data(n); T, K = w.R.shape; m = w.b.size; s = P.full_start(K, m, w.b); p = np.empty(K); C = np.zeros(m); E = np.zeros(m); worst = -1e9
    for t in range(min(T, 4000)):
        P.full_play(s, p); f = np.array([(s[9][:, None] * s[8] * s[1][:, j]).sum() for j in range(m)]); z = w.Z[t] @ p
        # weights W, q of the play are those of before learn: `expected` is formed with them
        P.full_learn(s, P.FULL, w.b, w.R[t], w.Z[t], p); E += z - f; C += np.clip(s[5] / P.REPAY, -w.b, .95 * w.b)
        worst = max(worst, (s[5] + C - s[4] * w.b**2 / P.MU - E).max())
    print(n, "largest left - right:", worst)

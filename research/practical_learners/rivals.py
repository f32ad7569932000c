from shocks import *
@njit
def hash01(n):
    """Stands for kernels.uniform(key, n): a number of a fixed stream at the state's counter."""
    x = np.uint64(n) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x1234567)
    x ^= x >> np.uint64(30); x *= np.uint64(0xBF58476D1CE4E5B9); x ^= x >> np.uint64(27); x *= np.uint64(0x94D049BB133111EB); x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)) * (1.0 / 9007199254740992.0)
@njit
def lp1(r, z, b, p):
    """max p.r with p.z <= b, one line: the best pair; the cheapest if none."""
    K = r.size; best = -1e300; bi = 0; bk = 0; w = 1.0
    for k in range(K): p[k] = 0.0
    for i in range(K):
        if z[i] <= b and r[i] > best: best = r[i]; bi = i; bk = i; w = 1.0
        for k in range(K):
            if z[i] <= b and z[k] > b:
                s = (b - z[i]) / (z[k] - z[i]); v = (1 - s) * r[i] + s * r[k]
                if v > best: best = v; bi = i; bk = k; w = 1 - s
    if best < -1e299:
        bi = 0
        for k in range(K):
            if z[k] < z[bi]: bi = k
        bk = bi; w = 1.0
    p[bi] += w; p[bk] += 1 - w
# par: 0 kind (0 UCB, 1 Thompson), 1 repay
def u_start(K, m, b): return (np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(1), np.zeros(1), np.zeros(K), np.zeros(K))
@njit
def u_play(s, par, b, p):
    n, sr, sz, over, t, r, z = s
    for k in range(n.size):
        if par[0] == 0:
            w = sqrt(log(1 + t[0]) / (2 * max(n[k], 1e-9)))*par[2]
            r[k] = min(1.0, sr[k] / max(n[k], 1) + w) if n[k] > 0 else 1.0
            z[k] = max(0.0, sz[k] / n[k] - min(w, 1.0) * b[0]) if n[k] > 0 else 0.0
        else:
            c = (int(t[0]) * n.size + k) * 2
            u1 = max(hash01(c), 1e-12); u2 = hash01(c + 1)
            a = 1 + sr[k]; bb = 1 + max(n[k] - sr[k], 0.0)
            mean = a / (a + bb); sd = sqrt(mean * (1 - mean) / (a + bb + 1))
            r[k] = mean + sd * sqrt(-2 * log(u1)) * np.cos(2 * np.pi * u2)
            z[k] = (sz[k] + b[0]) / (n[k] + 1)
    lp1(r, z, P.limit_now(b[0], over[0], par[1]), p)
@njit
def u_learn(s, par, b, a, pa, phase, rr, zz, ch, p):
    n, sr, sz, over, t, r, z = s
    if phase == 0:
        t[0] += 1
        ch[0] = sz[a] / n[a] if n[a] > 0 else b[0]
        over[0] += ch[0] - b[0]
    else:
        n[a] += 1; sr[a] += rr; sz[a] += zz[0]; over[0] += zz[0] - ch[0]
runU = bandit_loop(u_play, u_learn)
# BanditQ: queue, surrogate loss, scale-free exponential weights on importance-weighted losses
def q_start(K, m, b): return (np.zeros(K), np.zeros(m), np.zeros(2), np.zeros(m))
@njit
def q_play(s, par, b, p):
    L, Q, x, lam = s
    K = L.size; eta = sqrt(log(max(K, 2)) / max(x[1], 1.0)); mn = L.min(); t = 0.0
    for k in range(K): p[k] = exp(-eta * (L[k] - mn)); t += p[k]
    g = min(0.5, sqrt(K * log(max(K, 2)) / max(x[0], 1.0)) * par[0])
    for k in range(K): p[k] = (1 - g) * p[k] / t + g / K
@njit
def q_learn(s, par, b, a, pa, phase, r, z, ch, p):
    L, Q, x, lam = s
    if phase == 0: return
    x[0] += 1; l = 1 - r; sc = 1.0
    for j in range(b.size):
        v = Q[j] / sqrt(x[0]); l += v * z[j]; sc += v
        Q[j] = max(0.0, Q[j] + z[j] - b[j])
    L[a] += l / pa; x[1] += L.size * sc * sc
runQ = bandit_loop(q_play, q_learn)
if __name__ == "__main__":
    M1 = [d for d in DATA if d != "flusight_2023_24"]; G = ["bernoulli", "radio", "portfolio", "switching", "drifting", "low-variation", "slater", "corrupted", "anti-leader", "penalty-breaker"]
    bandit_table(runU, u_start, np.array([0., 1000., 1.]), sets=M1, games=G, gseeds=2, title="UCB + LP + pacing")
    bandit_table(runU, u_start, np.array([1., 1000., 1.]), sets=M1, games=G, gseeds=2, title="Thompson + LP + pacing")
    bandit_table(runQ, q_start, np.array([0.]), games=G, gseeds=2, title="BanditQ (no uniform share)")
    allshocks(runU, u_start, np.array([0., 1000., 1.]), "UCB+LP", seeds=2)
    allshocks(runU, u_start, np.array([1., 1000., 1.]), "Thompson+LP", seeds=2)

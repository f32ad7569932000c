"""The governor of the governor theory 8 as a wrapper, m lines, late answers: G1 (sure), G3 (mean), G4 (a mixture), G5 (learned)."""
from pb import *
@njit
def help_needed(debt, b, B, worst):
    for j in range(b.size):
        if debt[j] + worst[j] - b[j] > B[j]: return True
    return False
@njit
def run_governed(s, par, R, Z, b, B, worst, safe, safe_reserve, late, us, mode, eps):
    """mode 0 none, 1 G1/G3 (safe action, reserved at safe_reserve), 4 G4 (known sure costs v = safe_reserve matrix is Z's max), 5 G5 learned."""
    T, K = R.shape; m = b.size
    p = np.empty(K); debt = np.zeros(m); true = np.zeros(m); peak = np.zeros(m); helped = 0; rew = 0.0
    n = late + 1
    qa = np.full(n, -1, np.int64); inner = np.zeros(n); qc = np.zeros((n, m)); qres = np.zeros((n, m)); qt = np.zeros(n, np.int64)
    cnt = np.zeros(K); sm = np.zeros((m, K)); L = log(4 * K * m * T / eps)
    for t in range(T):
        c = t % n
        ask = mode == 0 or not help_needed(debt, b, B, worst)
        if ask:
            P.bandit_play(s, p); a = K - 1; u = us[t]
            for k in range(K):
                u -= p[k]
                if u < 0:
                    a = k; break
            P.bandit_charge(s, par, b, a, qc[c], True); inner[c] = 1.0
            for j in range(m): qres[c, j] = worst[j]
        else:
            helped += 1; a = safe; inner[c] = 0.0
            for j in range(m): qres[c, j] = safe_reserve[j]
            if mode == 5:   # the action with the least largest lower bound of cost over its limit
                best = 1e300
                for k in range(K):
                    w = -1e300
                    for j in range(m):
                        lo = max(0.0, sm[j, k] / cnt[k] - sqrt(L / (2 * cnt[k]))) if cnt[k] > 0 else 0.0
                        w = max(w, lo - b[j])
                    if w < best: best = w; a = k
                for j in range(m): qres[c, j] = worst[j]
        qa[c] = a; qt[c] = t; rew += R[t, a]
        for j in range(m):
            debt[j] += qres[c, j] - b[j]; true[j] += Z[t, j, a] - b[j]; peak[j] = max(peak[j], true[j])
        d = (t + 1) % n if n > 1 else c
        if t >= n - 1:
            k = qa[d]; cnt[k] += 1
            for j in range(m):
                sm[j, k] += Z[qt[d], j, k]; debt[j] += Z[qt[d], j, k] - qres[d, j]
            if inner[d] > 0: P.bandit_learn(s, par, b, k, R[qt[d], k], Z[qt[d], :, k], qc[d])
    return rew / T, true, peak, helped
if __name__ == "__main__":
    T = 20_000; g = np.random.default_rng(0)
    q = np.array([.9, .7, .5, .3]); mz = np.array([[.9, .5, .3, .25], [.3, .6, .5, .25]]); b = np.array([.5, .5])
    R = (g.random((T, 4)) < q).astype(float); Z = (g.random((T, 2, 4)) < mz).astype(float)
    Zs = Z.copy(); Zs[:, :, 3] = .25       # the safe action is sure
    best = best_fixed_play(q, 1 - mz, 1 - b).value; print("LP", best)
    for late in (0, 50):
        for Bv in (0.5 + .5 * (late + 1), 50., 200.):
            for mode, zz, res, lab in ((0, Zs, [.25, .25], "none"), (1, Zs, [.25, .25], "G1 sure"), (1, Z, [1., 1.], "G3 mean"), (5, Z, [1., 1.], "G5 learned")):
                o = [run_governed(P.bandit_start(4, 2, b), P.BANDIT, R, zz, b, np.full(2, Bv), np.ones(2), 3, np.array(res), late, np.random.default_rng(i).random(T), mode, .05) for i in range(4)]
                print(f"late {late} B {Bv:5.1f} {lab:10} reward/LP {np.mean([x[0] for x in o])/best:.3f} peak debt {max(x[2].max() for x in o):7.1f} end {np.mean([x[1].max() for x in o]):7.1f} helped {np.mean([x[3] for x in o]):.0f}", flush=True)

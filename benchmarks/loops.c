/* The ruler: each learner's rounds as one loop fused by hand in C, with the measures that a run of the package keeps.
   Own exponential (the same polynomial), weights as logarithms with a cache, one constraint. */
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double exponential(double x) {
    x = x < -708.0 ? -708.0 : x > 709.0 ? 709.0 : x;
    double shifted = x * 1.4426950408889634 + 0x1.8p52;
    double k = shifted - 0x1.8p52;
    double y = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double y2 = y * y, y4 = y2 * y2;
    double low = (1 / 2.0 + y * (1 / 6.0)) + (1 / 24.0 + y * (1 / 120.0)) * y2;
    double middle = (1 / 720.0 + y * (1 / 5040.0)) + (1 / 40320.0 + y * (1 / 362880.0)) * y2;
    double high = (1 / 3628800.0 + y * (1 / 39916800.0)) + (1 / 479001600.0 + y * (1 / 6227020800.0)) * y2;
    double s = 1.0 + (y + y2 * (low + (middle + high * y4) * y4));
    uint64_t bits;
    memcpy(&bits, &shifted, 8);
    bits = (bits + 1023) << 52;
    double power;
    memcpy(&power, &bits, 8);
    return s * power;
}

static inline double uniform(uint64_t key, uint64_t n) {
    uint64_t z = key + n * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z = z ^ (z >> 31);
    return (double)(z >> 11) * 0x1p-53;
}

/* Eight values at a time, then one by one: where their sum first exceeds `left`. */
static inline int draw(int K, const double *x, double left) {
    int i = 0;
    while (i + 8 < K) {
        double sum = ((x[i] + x[i + 1]) + (x[i + 2] + x[i + 3])) + ((x[i + 4] + x[i + 5]) + (x[i + 6] + x[i + 7]));
        if (left < sum) break;
        left -= sum;
        i += 8;
    }
    while (i < K - 1 && left >= x[i]) left -= x[i++];
    return i;
}

static double settle(int K, double *restrict log_w, double *restrict w, double *anchor) {
    double largest = log_w[0], z = 0;
    for (int i = 0; i < K; i++) largest = log_w[i] > largest ? log_w[i] : largest;
    *anchor = largest;
#pragma omp simd reduction(+ : z)
    for (int i = 0; i < K; i++) { w[i] = exponential(log_w[i] - largest); z += w[i]; }
    return z;
}

/* sums: reward, shortfall, positive, revealed, priced, largest */
void lewa(int T, int K, double eta, double delta, double mu, double floor_, const double *R, const double *C, int rows,
          double *restrict log_w, double *restrict w, double *sums) {
    double anchor = 0, lam = 0, z = 0;
    for (int i = 0; i < K; i++) { log_w[i] = 0; w[i] = 1; z += 1; }
    int row = 0;
    for (int t = 0; t < T; t++) {
        const double *r = R + (long)row * K, *c = C + (long)row * K;
        if (++row == rows) row = 0;
        double earned = 0, met = 0, next = 0;
#pragma omp simd reduction(+ : earned, met, next)
        for (int i = 0; i < K; i++) {
            earned += w[i] * r[i];
            met += w[i] * c[i];
            double x = log_w[i] + eta * (r[i] + lam * c[i]);
            log_w[i] = x;
            w[i] = exponential(x - anchor);
            next += w[i];
        }
        met /= z;
        sums[0] += earned / z;
        sums[1] += floor_ - met;
        sums[2] += floor_ > met ? floor_ - met : 0;
        sums[3] += floor_ - met;
        sums[4] += lam;
        sums[5] = lam > sums[5] ? lam : sums[5];
        lam = (1 - delta * mu) * lam - mu * (met - floor_);
        lam = lam > 0 ? lam : 0;
        z = next < 1e-100 || next > 1e100 ? settle(K, log_w, w, &anchor) : next;
    }
}

/* Bernoulli rewards and constraints drawn for the action taken; p and q are their means. */
void bandit_lewa(int T, int K, double eta, double gamma, double delta, double mu, double floor_, const double *p, const double *q,
                 uint64_t nature, uint64_t dice, double *restrict log_w, double *restrict w, double *sums) {
    double anchor = 0, lam = 0, z = 0;
    for (int i = 0; i < K; i++) { log_w[i] = 0; w[i] = 1; z += 1; }
    for (int t = 0; t < T; t++) {
        double u = uniform(dice, t), over = 1 / z;
        int i = 0;
        if (u < gamma) {
            i = (int)(u / gamma * K);
            i = i < K - 1 ? i : K - 1;
        } else {
            i = draw(K, w, (u - gamma) / (1 - gamma) * z);
        }
        double share = w[i] * over, chance = (1 - gamma) * share + gamma / K;
        uint64_t n = ((uint64_t)t * K + i) * 2;
        double r = uniform(nature, n) < p[i] ? 1 : 0, c = uniform(nature, n + 1) < q[i] ? 1 : 0;
        sums[0] += r;
        sums[1] += floor_ - q[i];
        sums[2] += floor_ > q[i] ? floor_ - q[i] : 0;
        sums[3] += floor_ - c;
        sums[4] += lam;
        sums[5] = lam > sums[5] ? lam : sums[5];
        log_w[i] += eta / chance * (r + lam * c);
        lam = (1 - delta * mu) * lam - mu * (share * c / chance - floor_);
        lam = lam > 0 ? lam : 0;
        double value = exponential(log_w[i] - anchor);
        z += value - w[i];
        w[i] = value;
        if (z < 1e-100 || z > 1e100) z = settle(K, log_w, w, &anchor);
    }
}

void hp_bandit_lewa(int T, int K, double eta, double gamma, double delta, double mu, double bonus, double level, double floor_,
                    const double *p, const double *q, uint64_t nature, uint64_t dice, double *restrict log_w,
                    double *restrict w, double *restrict play, double *restrict totals, double *sums) {
    double anchor = 0, lam = 0, z = 0;
    for (int i = 0; i < K; i++) { log_w[i] = 0; w[i] = 1; totals[i] = 0; z += 1; }
    for (int t = 0; t < T; t++) {
        double scale = (1 - gamma) / z, least = gamma / K, kept = 0;
#pragma omp simd reduction(+ : kept)
        for (int i = 0; i < K; i++) { play[i] = w[i] * scale + least; kept += play[i] * q[i]; }
        double u = uniform(dice, t);
        int a = draw(K, play, u);
        uint64_t n = ((uint64_t)t * K + a) * 2;
        double r = uniform(nature, n) < p[a] ? 1 : 0, c = uniform(nature, n + 1) < q[a] ? 1 : 0;
        sums[0] += r;
        sums[1] += floor_ - kept;
        sums[2] += floor_ > kept ? floor_ - kept : 0;
        sums[3] += floor_ - c;
        sums[4] += lam;
        sums[5] = lam > sums[5] ? lam : sums[5];
        double chance = play[a], share = 1.0 / (t + 1), met = 0, all = 0, next = 0;
        totals[a] += c / chance;
        log_w[a] += eta * r / chance;
#pragma omp simd reduction(+ : met, all, next)
        for (int i = 0; i < K; i++) {
            double estimate = totals[i] * share;
            estimate = estimate < 1 ? estimate : 1;
            met += play[i] * estimate;
            all += estimate;
            double x = log_w[i] + eta * (bonus / play[i] + lam * estimate);
            log_w[i] = x;
            w[i] = exponential(x - anchor);
            next += w[i];
        }
        double kappa = sqrt(2 * K * level / (gamma * (t + 1))) + 2 * K * level / (3 * gamma * (t + 1));
        kappa = kappa < 1 ? kappa : 1;
        lam = (1 - delta * mu) * lam - mu * ((met - least * all) / (1 - gamma) + kappa - floor_);
        lam = lam > 0 ? lam : 0;
        z = next < 1e-100 || next > 1e100 ? settle(K, log_w, w, &anchor) : next;
    }
}

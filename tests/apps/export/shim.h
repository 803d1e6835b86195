/* The arithmetic of float64.h by the processor's doubles, to test the translation alone. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef unsigned long long f64;
typedef unsigned long long f64_u;
typedef long long f64_s;
#define F64(bits) ((f64)bits##ULL)
#define F64_GLOBAL static __attribute__((noinline))
#define F64_INLINE static inline
#define LOOP_LIMIT 1000000000

static double d_(f64 x) { double d; memcpy(&d, &x, 8); return d; }
static f64 b_(double d) { f64 x; memcpy(&x, &d, 8); return x; }
static f64 f64_add(f64 a, f64 b) { return b_(d_(a) + d_(b)); }
static f64 f64_sub(f64 a, f64 b) { return b_(d_(a) - d_(b)); }
static f64 f64_mul(f64 a, f64 b) { return b_(d_(a) * d_(b)); }
static f64 f64_div(f64 a, f64 b) { return b_(d_(a) / d_(b)); }
static f64 f64_neg(f64 a) { return b_(-d_(a)); }
static f64 f64_abs(f64 a) { return b_(fabs(d_(a))); }
static int f64_lt(f64 a, f64 b) { return d_(a) < d_(b); }
static int f64_le(f64 a, f64 b) { return d_(a) <= d_(b); }
static int f64_eq(f64 a, f64 b) { return d_(a) == d_(b); }
static f64 f64_floor(f64 a) { return b_(floor(d_(a))); }
static f64 f64_ceil(f64 a) { return b_(ceil(d_(a))); }
static f64 f64_round(f64 a) { return b_(nearbyint(d_(a))); }
static f64 f64_sqrt(f64 a) { return b_(sqrt(d_(a))); }
static f64 f64_cbrt(f64 a) { return b_(cbrt(d_(a))); }
static f64 f64_exp(f64 a) { return b_(exp(d_(a))); }
static f64 f64_log(f64 a) { return b_(log(d_(a))); }
static f64 f64_pow(f64 a, f64 b) { return b_(pow(d_(a), d_(b))); }
static f64 f64_from_int(f64_s k) { return b_((double)k); }
static f64_s f64_to_int(f64 a)
{
    double d = d_(a);
    return d != d ? 0 : d >= 9.2e18 ? INT64_MAX : d <= -9.2e18 ? INT64_MIN : (f64_s)d;
}
static f64 f64_mod(f64 a, f64 b)
{
    double x = d_(a), y = d_(b), rest = fmod(x, y);
    if (rest == 0.0)
        return b_(copysign(0.0, y));
    return b_((y < 0.0) != (rest < 0.0) ? rest + y : rest);
}

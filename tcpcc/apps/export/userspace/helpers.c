/* Small functions of which an exported file has those that it needs. */

/* Python's max(): the first argument unless the second is beyond it. */
static double larger(double a, double b)
{
    return b > a ? b : a;
}

/* Python's min(). */
static double smaller(double a, double b)
{
    return b < a ? b : a;
}

static int64_t larger_int(int64_t a, int64_t b)
{
    return b > a ? b : a;
}

static int64_t smaller_int(int64_t a, int64_t b)
{
    return b < a ? b : a;
}

static int64_t abs_int(int64_t a)
{
    return a < 0 ? -a : a;
}

/* A double without its fraction; the nearest 64-bit integer, or 0 for NaN. */
static int64_t to_int(double x)
{
    if (x != x)
        return 0;
    if (x >= 9223372036854775807.0)
        return INT64_MAX;
    return x <= -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}

/* Index into an array, from its end if negative; never beyond the array. */
static int64_t place(int64_t k, int64_t size)
{
    if (k < 0)
        k += size;
    return k < 0 ? 0 : k < size ? k : size - 1;
}

/* Python's %: the result has the sign of the divisor. */
static double mod(double x, double y)
{
    double rest = fmod(x, y);
    if (rest == 0.0)
        return copysign(0.0, y);
    return (y < 0.0) != (rest < 0.0) ? rest + y : rest;
}

/* Python's //. */
static double floor_div(double x, double y)
{
    double rest = fmod(x, y), share = (x - rest) / y;
    if (y == 0.0)
        return x / y;
    if (rest != 0.0 && (y < 0.0) != (rest < 0.0))
        share -= 1.0;
    if (share == 0.0)
        return copysign(0.0, x / y);
    double down = floor(share);
    return share - down > 0.5 ? down + 1.0 : down;
}

/* Python's %: the result has the sign of the divisor; 0 for a divisor of 0. */
static int64_t mod_int(int64_t x, int64_t y)
{
    if (y == 0 || y == -1)
        return 0;
    int64_t rest = x % y;
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* Python's //; 0 for a divisor of 0. */
static int64_t floor_div_int(int64_t x, int64_t y)
{
    if (y == 0)
        return 0;
    if (y == -1)
        return -x;
    int64_t share = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? share - 1 : share;
}

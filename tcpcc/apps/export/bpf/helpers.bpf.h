/* Small functions of which an exported file has those that it needs. */

/* Python's max(): the first argument unless the second is beyond it. */
F64_INLINE f64 rule_larger(f64 a, f64 b)
{
    return f64_lt(a, b) ? b : a;
}

/* Python's min(). */
F64_INLINE f64 rule_smaller(f64 a, f64 b)
{
    return f64_lt(b, a) ? b : a;
}

F64_INLINE s64 larger_int(s64 a, s64 b)
{
    return b > a ? b : a;
}

F64_INLINE s64 smaller_int(s64 a, s64 b)
{
    return b < a ? b : a;
}

F64_INLINE s64 abs_int(s64 a)
{
    return a < 0 ? -a : a;
}

/* Without its fraction. */
F64_INLINE f64 rule_trunc(f64 x)
{
    return f64_lt(x, F64(0x0000000000000000)) ? f64_ceil(x) : f64_floor(x);
}

/* Index into an array, from its end if negative; never beyond the array. */
F64_INLINE u64 place(s64 k, u64 size)
{
    if (k < 0)
        k += size;
    u64 at = k;
    return at < size ? at : k < 0 ? 0 : size - 1;
}

/* Python's //. */
F64_GLOBAL f64 rule_floor_div(f64 x, f64 y)
{
    f64 zero = F64(0x0000000000000000), one = F64(0x3ff0000000000000);
    if (f64_eq(y, zero))
        return f64_div(x, y);
    f64 infinite = F64(0x7ff0000000000000), negative = (x ^ y) >> 63;
    if (f64_eq(f64_abs(y), infinite) && f64_lt(f64_abs(x), infinite))
        return f64_eq(x, zero) || !negative ? negative << 63 : F64(0xbff0000000000000);
    f64 share = f64_div(f64_sub(x, f64_mod(x, y)), y);
    if (f64_eq(share, zero))
        return (f64_div(x, y) >> 63) << 63;
    f64 down = f64_floor(share);
    return f64_lt(F64(0x3fe0000000000000), f64_sub(share, down)) ? f64_add(down, one) : down;
}

/* Python's %: the result has the sign of the divisor; 0 for a divisor of 0. */
F64_INLINE s64 mod_int(s64 x, s64 y)
{
    if (y == 0)
        return 0;
    u64 size = y < 0 ? -(u64)y : (u64)y;
    u64 rest = (x < 0 ? -(u64)x : (u64)x) % size;
    if (rest != 0 && (x < 0) != (y < 0))
        rest = size - rest;
    return y < 0 ? -(s64)rest : (s64)rest;
}

/* Python's //; 0 for a divisor of 0. */
F64_INLINE s64 floor_div_int(s64 x, s64 y)
{
    if (y == 0)
        return 0;
    u64 size = y < 0 ? -(u64)y : (u64)y, whole = x < 0 ? -(u64)x : (u64)x;
    if ((x < 0) == (y < 0))
        return whole / size;
    return -(s64)((whole + size - 1) / size);
}

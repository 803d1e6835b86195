/* IEEE 754 doubles in 64-bit integers, for code that must not use floating point (Linux BPF).
 *
 * An f64 holds the bits of a double. Add, subtract, multiply, divide, square root, remainder,
 * comparisons, rounding and conversions are exact: the bits are those of the CPU, with subnormals,
 * infinities and signed zeros; only the payload and the sign of a NaN may differ.
 * f64_cbrt, f64_exp, f64_log and f64_pow compute 62 bits and round once. The error is at most
 * 0.51 units in the last place; for f64_pow this bound holds while |y log2(x)| < 4, and grows with
 * that product to 2 units at the ends of the range.
 *
 * Functions are global, not static: BPF's verifier checks a global function once, and a static one
 * again on every path that calls it. At most two frames are nested, as BPF allows eight in all. Loops
 * are bounded. The header compiles for user space, too.
 */
#ifndef TCPCC_FLOAT64_H
#define TCPCC_FLOAT64_H

typedef unsigned long long f64;

typedef unsigned long long f64_u;
typedef long long f64_s;

#ifndef INT64_C
#define INT64_C(value) value##LL
#endif

#define F64_GLOBAL __attribute__((noinline))
#define F64_INLINE static inline __attribute__((always_inline, unused))

/* The bits of a double as an f64. */
#define F64(bits) ((f64)bits##ULL)

#define F64_SIGN 0x8000000000000000ULL
#define F64_INF 0x7ff0000000000000ULL
#define F64_NAN 0x7ff8000000000000ULL
#define F64_ONE 0x3ff0000000000000ULL
#define F64_FRACTION 0x000fffffffffffffULL
#define F64_HIDDEN 0x0010000000000000ULL
#define F64_BIAS 1023

F64_INLINE f64_s f64_exponent(f64 a)
{
	return (a >> 52) & 2047;
}

F64_INLINE f64 f64_magnitude(f64 a)
{
	return a & ~F64_SIGN;
}

F64_INLINE int f64_is_nan(f64 a)
{
	return f64_magnitude(a) > F64_INF;
}

/* Number of leading zero bits of x > 0, without branches. */
F64_INLINE f64_u f64_zeros(f64_u x)
{
	f64_u n, k;

	k = (((x >> 32) - 1) >> 63) << 5; n = k; x <<= k;
	k = (((x >> 48) - 1) >> 63) << 4; n += k; x <<= k;
	k = (((x >> 56) - 1) >> 63) << 3; n += k; x <<= k;
	k = (((x >> 60) - 1) >> 63) << 2; n += k; x <<= k;
	k = (((x >> 62) - 1) >> 63) << 1; n += k; x <<= k;
	return n + ((x >> 63) ^ 1);
}

/* Upper 64 bits of a product. */
F64_INLINE f64_u f64_high(f64_u a, f64_u b)
{
	f64_u al = a & 0xffffffff, ah = a >> 32, bl = b & 0xffffffff, bh = b >> 32;
	f64_u middle = ah * bl + (al * bl >> 32);
	f64_u other = al * bh + (middle & 0xffffffff);

	return ah * bh + (middle >> 32) + (other >> 32);
}

/* 1 if x is not 0, without branches. */
F64_INLINE f64_u f64_any(f64_u x)
{
	return (x | (0 - x)) >> 63;
}

/* The double nearest to m * 2^(e - 1086) with m's top bit set; m's lowest bit is sticky. */
F64_INLINE f64 f64_make(f64_u sign, f64_s e, f64_u m)
{
	if (e > 2046)
		return sign | F64_INF;
	if (e < 1) {
		f64_u shift = 1 - e;

		if (shift > 63)
			m = 1;
		else
			m = (m >> (shift & 63)) | f64_any(m << ((64 - shift) & 63));
		e = 1;
	}
	f64_u rest = f64_any(m & 0x3ff);
	f64_u half = (m >> 10) & 1;

	m >>= 11;
	m += half & (rest | (m & 1));
	return sign | ((((f64_u)e - 1) << 52) + m);
}

F64_INLINE f64 f64_neg(f64 a)
{
	return a ^ F64_SIGN;
}

F64_INLINE f64 f64_abs(f64 a)
{
	return f64_magnitude(a);
}

F64_GLOBAL f64 f64_add(f64 a, f64 b)
{
	if (f64_magnitude(a) < f64_magnitude(b)) {
		f64 other = a;

		a = b;
		b = other;
	}
	f64_s ea = f64_exponent(a), eb = f64_exponent(b);
	f64_u ma = a & F64_FRACTION, mb = b & F64_FRACTION;
	f64_u opposite = (a ^ b) >> 63;

	if (ea == 2047) {
		if (ma || (eb == 2047 && opposite))
			return F64_NAN;
		return a;
	}
	if (ea)
		ma |= F64_HIDDEN;
	else
		ea = 1;
	if (eb)
		mb |= F64_HIDDEN;
	else
		eb = 1;
	ma <<= 10;
	mb <<= 10;
	f64_u shift = ea - eb;

	if (shift > 63)
		mb = f64_any(mb);
	else if (shift)
		mb = (mb >> (shift & 63)) | f64_any(mb << ((64 - shift) & 63));
	f64_u m = ma + ((mb ^ (0 - opposite)) + opposite);

	if (!m)
		return a & b & F64_SIGN;
	f64_u zeros = f64_zeros(m);

	return f64_make(a & F64_SIGN, ea + 1 - (f64_s)zeros, m << (zeros & 63));
}

F64_INLINE f64 f64_sub(f64 a, f64 b)
{
	return f64_add(a, b ^ F64_SIGN);
}

F64_GLOBAL f64 f64_mul(f64 a, f64 b)
{
	f64_u sign = (a ^ b) & F64_SIGN;
	f64_s ea = f64_exponent(a), eb = f64_exponent(b);
	f64_u ma = a & F64_FRACTION, mb = b & F64_FRACTION;

	if (ea == 2047 || eb == 2047) {
		if (f64_is_nan(a) || f64_is_nan(b))
			return F64_NAN;
		if (!f64_magnitude(a) || !f64_magnitude(b))
			return F64_NAN;
		return sign | F64_INF;
	}
	if (!f64_magnitude(a) || !f64_magnitude(b))
		return sign;
	if (ea)
		ma |= F64_HIDDEN;
	else
		ea = 1;
	if (eb)
		mb |= F64_HIDDEN;
	else
		eb = 1;
	f64_u za = f64_zeros(ma), zb = f64_zeros(mb);

	ma <<= za & 63;
	mb <<= zb & 63;
	f64_u m = f64_high(ma, mb) | f64_any(ma * mb);
	f64_u carry = m >> 63;
	f64_s e = ea + eb - (f64_s)(za + zb) + 22 - F64_BIAS + (f64_s)carry;

	return f64_make(sign, e, m << (carry ^ 1));
}

F64_GLOBAL f64 f64_div(f64 a, f64 b)
{
	f64_u sign = (a ^ b) & F64_SIGN;
	f64_s ea = f64_exponent(a), eb = f64_exponent(b);
	f64_u ma = a & F64_FRACTION, mb = b & F64_FRACTION;

	if (f64_is_nan(a) || f64_is_nan(b))
		return F64_NAN;
	if (ea == 2047)
		return eb == 2047 ? F64_NAN : sign | F64_INF;
	if (eb == 2047)
		return sign;
	if (!f64_magnitude(b))
		return f64_magnitude(a) ? sign | F64_INF : F64_NAN;
	if (!f64_magnitude(a))
		return sign;
	if (ea)
		ma |= F64_HIDDEN;
	else
		ea = 1;
	if (eb)
		mb |= F64_HIDDEN;
	else
		eb = 1;
	f64_u za = f64_zeros(ma) - 11, zb = f64_zeros(mb) - 11;

	ma <<= za & 63;
	mb <<= zb & 63;
	f64_u q = ma / mb, rest = ma % mb;

	for (int i = 0; i < 5; i++) { /* 11 bits a step */
		rest <<= 11;
		q = (q << 11) | (rest / mb);
		rest %= mb;
	}
	f64_u m = (q << 8) | f64_any(rest);
	f64_u carry = m >> 63;

	return f64_make(sign, ea - eb - (f64_s)(za - zb) + F64_BIAS - 1 + (f64_s)carry, m << (carry ^ 1));
}

/* Order of bits that orders doubles, except for NaN and the two zeros. */
F64_INLINE f64_s f64_order(f64 a)
{
	return (f64_s)a < 0 ? (f64_s)(F64_SIGN - a) : (f64_s)a;
}

F64_GLOBAL int f64_lt(f64 a, f64 b)
{
	return !f64_is_nan(a) && !f64_is_nan(b) && f64_order(a) < f64_order(b);
}

F64_GLOBAL int f64_le(f64 a, f64 b)
{
	return !f64_is_nan(a) && !f64_is_nan(b) && f64_order(a) <= f64_order(b);
}

F64_GLOBAL int f64_eq(f64 a, f64 b)
{
	return !f64_is_nan(a) && !f64_is_nan(b) && f64_order(a) == f64_order(b);
}

/* Largest whole number not above a. */
F64_GLOBAL f64 f64_floor(f64 a)
{
	f64_s e = f64_exponent(a) - F64_BIAS;

	if (e >= 52 || !f64_magnitude(a))
		return a;
	if (e < 0)
		return a >> 63 ? F64_SIGN | F64_ONE : 0;
	f64_u part = F64_FRACTION >> (e & 63);

	a += part & (0 - (a >> 63));
	return a & ~part;
}

F64_GLOBAL f64 f64_ceil(f64 a)
{
	return f64_neg(f64_floor(f64_neg(a)));
}

/* Nearest whole number, the even one of two. */
F64_GLOBAL f64 f64_round(f64 a)
{
	f64_s e = f64_exponent(a) - F64_BIAS;

	if (e >= 52)
		return a;
	if (e < -1)
		return a & F64_SIGN;
	if (e < 0)
		return (a & F64_SIGN) | (a & F64_FRACTION ? F64_ONE : 0);
	f64_u shift = (52 - e) & 63, one = 1ULL << shift;

	a += (one >> 1) - 1 + ((a >> shift) & 1);
	return a & ~(one - 1);
}

F64_GLOBAL f64 f64_from_int(f64_s x)
{
	f64_u sign = (f64_u)x & F64_SIGN;
	f64_u m = x < 0 ? 0 - (f64_u)x : (f64_u)x;

	if (!m)
		return 0;
	f64_u zeros = f64_zeros(m);

	return f64_make(sign, F64_BIAS + 63 - (f64_s)zeros, m << (zeros & 63));
}

/* Whole part of a; the smallest integer if a is NaN or does not fit, as on x86. */
F64_GLOBAL f64_s f64_to_int(f64 a)
{
	f64_s e = f64_exponent(a) - F64_BIAS;
	f64_u m = (a & F64_FRACTION) | F64_HIDDEN;

	if (e < 0)
		return 0;
	if (e > 62)
		return (f64_s)F64_SIGN;
	if (e > 52)
		m <<= (e - 52) & 63;
	else
		m >>= (52 - e) & 63;
	return a >> 63 ? (f64_s)(0 - m) : (f64_s)m;
}

/* a % b with Python's sign: that of b. NaN for b = 0, as Python's error has no place here. */
F64_GLOBAL f64 f64_mod(f64 a, f64 b)
{
	f64_s ea = f64_exponent(a), eb = f64_exponent(b);
	f64_u ma = a & F64_FRACTION, mb = b & F64_FRACTION;
	f64 rest = a;

	if (f64_is_nan(a) || f64_is_nan(b) || ea == 2047 || !f64_magnitude(b))
		return F64_NAN;
	if (f64_magnitude(a) >= f64_magnitude(b)) {
		if (ea)
			ma |= F64_HIDDEN;
		else
			ea = 1;
		if (eb)
			mb |= F64_HIDDEN;
		else
			eb = 1;
		f64_u left = ea - eb;

		ma %= mb;
		for (int i = 0; i < 187; i++) { /* 11 bits a step, of at most 2046 */
			if (left < 11)
				break;
			ma = (ma << 11) % mb;
			left -= 11;
		}
		left = left > 11 ? 0 : left;
		ma = (ma << left) % mb;
		rest = a & F64_SIGN;
		if (ma) {
			f64_u zeros = f64_zeros(ma);

			rest = f64_make(rest, eb + 11 - (f64_s)zeros, ma << (zeros & 63));
		}
	}
	if (!f64_magnitude(rest))
		return b & F64_SIGN;
	if ((rest ^ b) >> 63)
		return f64_add(rest, b);
	return rest;
}

F64_GLOBAL f64 f64_sqrt(f64 a)
{
	f64_s e = f64_exponent(a);
	f64_u m = a & F64_FRACTION;

	if (!f64_magnitude(a))
		return a;
	if (f64_is_nan(a) || a >> 63)
		return F64_NAN;
	if (e == 2047)
		return a;
	if (e)
		m |= F64_HIDDEN;
	else
		e = 1;
	f64_u zeros = f64_zeros(m) - 11;

	m <<= zeros & 63;
	e -= (f64_s)zeros + F64_BIAS;
	m <<= 1 + (e & 1);
	e >>= 1;
	f64_u root = 0, sum = 0, bit = F64_HIDDEN << 1;

	for (int i = 0; i < 54; i++) { /* one bit a step */
		f64_u trial = sum + bit;
		f64_u no = (f64_u)((f64_s)(m - trial) >> 63);

		sum += (bit << 1) & ~no;
		m -= trial & ~no;
		root += bit & ~no;
		m <<= 1;
		bit >>= 1;
	}
	return f64_make(0, e + F64_BIAS, (root << 10) | f64_any(m));
}

/* Constants with 64 bits after the point: c[k] = ln(2)^(k + 1) / (k + 1)!, and 1 / (2k + 3). */
#define F64_LN2 0xb17217f7d1cf79abULL
#define F64_LN2_LOW 0xc9e3b39803f2f6afULL
#define F64_LOG2E 0xb8aa3b295c17f0bbULL /* 63 bits after the point */
#define F64_LOG2E_LOW 0xbe87fed0691d3e88ULL
#define F64_SQRT2 0xb504f333f9de6484ULL /* 63 bits after the point */

#define F64_HORNER(sum, x, c) (sum) = (c) + f64_high(sum, x)

/* 2^(whole + part / 2^64). */
F64_GLOBAL f64 f64_power_of_two(f64_s whole, f64_u part)
{
	f64_u s = 0x66;

	F64_HORNER(s, part, 0x9c7ULL);
	F64_HORNER(s, part, 0xe1b7ULL);
	F64_HORNER(s, part, 0x131496ULL);
	F64_HORNER(s, part, 0x1816193ULL);
	F64_HORNER(s, part, 0x1c3bd651ULL);
	F64_HORNER(s, part, 0x1e8cac735ULL);
	F64_HORNER(s, part, 0x1e4cf5158cULL);
	F64_HORNER(s, part, 0x1b5253d395eULL);
	F64_HORNER(s, part, 0x162c0223a5c8ULL);
	F64_HORNER(s, part, 0xffe5fe2c4586ULL);
	F64_HORNER(s, part, 0xa184897c363c4ULL);
	F64_HORNER(s, part, 0x5761ff9e299cc4ULL);
	F64_HORNER(s, part, 0x276556df749cee5ULL);
	F64_HORNER(s, part, 0xe35846b82505fc6ULL);
	F64_HORNER(s, part, 0x3d7f7bff058b1d51ULL);
	F64_HORNER(s, part, 0xb17217f7d1cf79acULL);
	s = f64_high(s, part);
	if (whole > 2000)
		whole = 2000;
	if (whole < -2000)
		whole = -2000;
	return f64_make(0, whole + F64_BIAS, (s >> 1) | F64_SIGN);
}

/* A number as sign, m * 2^(e - 63) with m's top bit set; m = 0: zero. */
struct f64_parts {
	f64_u sign, m;
	f64_s e;
};

/* The logarithm of a positive finite number with 62 bits, to base 2 or e:
 * x = 2^k v with v in [sqrt(1/2), sqrt(2)]; ln v = 2 artanh(s), s = (v - 1) / (v + 1). */
F64_INLINE struct f64_parts f64_logarithm(f64 a, int base2)
{
	struct f64_parts found = {0, 0, 0};
	f64_s k = f64_exponent(a);
	f64_u m = a & F64_FRACTION;

	if (k)
		m |= F64_HIDDEN;
	else
		k = 1;
	f64_u zeros = f64_zeros(m);

	m <<= zeros & 63;
	k += 11 - (f64_s)zeros - F64_BIAS;
	f64_u above = m >= F64_SQRT2; /* v < 1 */
	f64_u over = above ? 0 - m : m - F64_SIGN;
	f64_u under = above ? (m >> 1) + F64_SIGN : (m >> 1) + (F64_SIGN >> 1);

	k += above;
	/* |v - 1| = over / 2^(63 + above), v + 1 = under / 2^(62 + above) */
	f64_u q = 0;
	f64_s shift = 0;

	if (over) {
		zeros = f64_zeros(over);
		f64_u rest = (over << (zeros & 63)) >> 10, by = under >> 10;

		shift = 1 + (f64_s)zeros;
		if (!by)
			by = 1;
		if (rest < by) {
			rest <<= 1;
			shift += 1;
		}
		q = rest / by;
		rest %= by;
		for (int i = 0; i < 6; i++) { /* 10 bits a step */
			rest <<= 10;
			q = (q << 10) | (rest / by);
			rest %= by;
		}
		rest <<= 3;
		q = (q << 3) | (rest / by); /* s = q / 2^(63 + shift) */
		f64_u s = shift > 63 ? 0 : q >> (shift & 63);
		f64_u square = f64_high(s << 1, s << 1);
		f64_u sum = 0x97b425ed097b426ULL;

		F64_HORNER(sum, square, 0xa3d70a3d70a3d71ULL);
		F64_HORNER(sum, square, 0xb21642c8590b216ULL);
		F64_HORNER(sum, square, 0xc30c30c30c30c31ULL);
		F64_HORNER(sum, square, 0xd79435e50d79436ULL);
		F64_HORNER(sum, square, 0xf0f0f0f0f0f0f0fULL);
		F64_HORNER(sum, square, 0x1111111111111111ULL);
		F64_HORNER(sum, square, 0x13b13b13b13b13b1ULL);
		F64_HORNER(sum, square, 0x1745d1745d1745d1ULL);
		F64_HORNER(sum, square, 0x1c71c71c71c71c72ULL);
		F64_HORNER(sum, square, 0x2492492492492492ULL);
		F64_HORNER(sum, square, 0x3333333333333333ULL);
		F64_HORNER(sum, square, 0x5555555555555555ULL);
		sum = F64_SIGN | (f64_high(sum, square) >> 1);
		q = f64_high(q, sum); /* 2 artanh(s) = q / 2^(61 + shift) */
		if (base2) {
			q = f64_high(q, F64_LOG2E);
			shift -= 1;
		}
		shift -= 2;
		zeros = f64_zeros(q);
		q <<= zeros & 63;
		shift += (f64_s)zeros; /* the logarithm of v is q / 2^(63 + shift) */
	}
	if (!k) {
		found.sign = above ? F64_SIGN : 0;
		found.m = q;
		found.e = 0 - shift;
		return found;
	}
	f64_u whole = k < 0 ? 0 - k : k, part = 0;

	if (!base2) {
		part = whole * F64_LN2 + f64_high(whole, F64_LN2_LOW);
		f64_u carry = part < whole * F64_LN2;

		whole = f64_high(whole, F64_LN2) + carry;
	}
	shift -= 1;
	q = over && shift < 64 ? q >> (shift & 63) : 0; /* 64 bits after the point */
	if (above == (f64_u)(k < 0)) {
		part += q;
		whole += part < q;
	} else {
		whole -= part < q;
		part -= q;
	}
	found.sign = k < 0 ? F64_SIGN : 0;
	if (whole) {
		zeros = f64_zeros(whole);
		found.m = whole << (zeros & 63);
		if (zeros)
			found.m |= part >> ((64 - zeros) & 63);
		found.e = 63 - (f64_s)zeros;
	} else if (part) {
		zeros = f64_zeros(part);
		found.m = part << (zeros & 63);
		found.e = -1 - (f64_s)zeros;
	}
	return found;
}

/* 2^(m * 2^(e - 63)) with a sign. */
F64_INLINE f64 f64_power_of_parts(f64_u sign, f64_u m, f64_s e)
{
	f64_u part = 0;
	f64_s whole = 0;

	if (e > 11)
		return sign ? 0 : F64_INF;
	if (e >= 0) {
		whole = m >> ((63 - e) & 63);
		part = m << ((e + 1) & 63);
	} else if (e > -65) {
		part = m >> ((-1 - e) & 63);
	}
	if (sign) {
		whole = part ? -1 - whole : 0 - whole;
		part = 0 - part;
	}
	return f64_power_of_two(whole, part);
}

F64_GLOBAL f64 f64_log(f64 a)
{
	if (!f64_magnitude(a))
		return F64_SIGN | F64_INF;
	if (f64_is_nan(a) || a >> 63)
		return F64_NAN;
	if (a == F64_INF)
		return a;
	struct f64_parts found = f64_logarithm(a, 0);

	if (!found.m)
		return 0;
	return f64_make(found.sign, found.e + F64_BIAS, found.m);
}

F64_GLOBAL f64 f64_exp(f64 a)
{
	f64_s e = f64_exponent(a) - F64_BIAS;
	f64_u m = (a & F64_FRACTION) | F64_HIDDEN;
	f64_u sign = a & F64_SIGN;

	if (f64_is_nan(a))
		return F64_NAN;
	if (e > 9)
		return sign ? 0 : F64_INF;
	if (e < -60)
		return F64_ONE;
	/* m * log2(e) with 128 bits: m has 53 bits, and 52 - e after the point */
	m <<= 11;
	f64_u high = f64_high(m, F64_LOG2E), low = m * F64_LOG2E, more = f64_high(m, F64_LOG2E_LOW);

	low += more;
	high += low < more; /* high has 62 - e bits after the point */
	f64_u part;
	f64_s whole = 0;

	if (e < -2) {
		part = high >> ((-2 - e) & 63);
	} else if (e == -2) {
		part = high;
	} else {
		whole = high >> ((62 - e) & 63);
		part = (high << ((e + 2) & 63)) | (low >> ((62 - e) & 63));
	}
	if (sign) {
		whole = part ? -1 - whole : 0 - whole;
		part = 0 - part;
	}
	return f64_power_of_two(whole, part);
}

/* The cube root, of the sign of a: that of v in [1, 8), a = 2^(3k) v, times 2^k. */
F64_GLOBAL f64 f64_cbrt(f64 a)
{
	f64_u sign = a & F64_SIGN;
	f64_u less = 0;

	a = f64_magnitude(a);
	if (!a || a >= F64_INF)
		return sign | a;
	if (!f64_exponent(a)) {
		a = f64_mul(a, 0x4350000000000000ULL); /* 2^54 */
		less = 18;
	}
	f64_u above = f64_exponent(a) + 3 - F64_BIAS % 3; /* of 3k + F64_BIAS */
	f64_u k = above / 3;
	struct f64_parts found = f64_logarithm((a & F64_FRACTION)
		| (F64_BIAS + above % 3) << 52, 1);
	/* a third of the logarithm: 2/3 with 64 bits after the point, halved */
	f64_u m = f64_high(found.m, 0xaaaaaaaaaaaaaaabULL);
	f64 root = F64_ONE;

	if (m) {
		f64_u zeros = f64_zeros(m);

		root = f64_power_of_parts(found.sign, m << (zeros & 63), found.e - 1 - (f64_s)zeros);
	}
	root += (k - 1 - F64_BIAS / 3 - less) << 52;
	return sign | root;
}

/* 0: y is not whole, 1: it is odd, 2: it is even. */
F64_INLINE int f64_parity(f64 y)
{
	f64_s e = f64_exponent(y) - F64_BIAS;
	f64_u m = (y & F64_FRACTION) | F64_HIDDEN;

	if (!f64_magnitude(y) || e > 52)
		return 2;
	if (e < 0)
		return 0;
	if (m & (F64_FRACTION >> (e & 63)))
		return 0;
	return (m >> ((52 - e) & 63)) & 1 ? 1 : 2;
}

F64_INLINE f64 f64_power_of_magnitude(f64 x, f64 y)
{
	struct f64_parts found = f64_logarithm(x, 1);
	f64_s e = f64_exponent(y);
	f64_u m = y & F64_FRACTION;

	if (!found.m)
		return F64_ONE;
	if (e)
		m |= F64_HIDDEN;
	else
		e = 1;
	f64_u zeros = f64_zeros(m);

	e += 11 - (f64_s)zeros;
	m <<= zeros & 63;
	f64_u product = f64_high(m, found.m), low = m * found.m;
	f64_u carry = product >> 63;

	if (!carry)
		product = (product << 1) | (low >> 63);
	e += found.e - F64_BIAS + (f64_s)carry;
	return f64_power_of_parts(found.sign ^ (y & F64_SIGN), product, e);
}

/* x^y, with the special cases of C's pow. */
F64_GLOBAL f64 f64_pow(f64 x, f64 y)
{
	f64_u sign = 0;

	if (!f64_magnitude(y) || x == F64_ONE)
		return F64_ONE;
	if (f64_is_nan(x) || f64_is_nan(y))
		return F64_NAN;
	int parity = f64_parity(y);

	if (f64_magnitude(y) == F64_INF) {
		if (f64_magnitude(x) == F64_ONE)
			return F64_ONE;
		return (f64_magnitude(x) > F64_ONE) == !(y >> 63) ? F64_INF : 0;
	}
	if (x >> 63) {
		if (!parity && f64_magnitude(x) && f64_magnitude(x) != F64_INF)
			return F64_NAN;
		if (parity == 1)
			sign = F64_SIGN;
		x = f64_magnitude(x);
	}
	if (!x)
		return y >> 63 ? sign | F64_INF : sign;
	if (x == F64_INF)
		return y >> 63 ? sign : sign | F64_INF;
	return sign | f64_power_of_magnitude(x, y);
}

#endif

/* The hyperbolic tangent, with an error of at most 3e-7. */
static float @tanh(float x)
{
    float z, p, q;
    if (x > $limit) x = $limit;
    if (x < -$limit) x = -$limit;
    z = x * x;
    p = 1.0f + z * ($p1 + z * ($p2 + z * ($p3 + z * $p4)));
    q = 1.0f + z * ($q1 + z * ($q2 + z * ($q3 + z * $q4)));
    return x * p / q;
}

float v = (input[i] - $start) * $inverse;
int16_t t;
/* NaN counts as the mean. */
if (v != v) v = 0.0f;
if (v < -$top.0f) v = -$top.0f;
if (v > $top.0f) v = $top.0f;
t = (int16_t)v;
x[i] = ($code)((float)t > v ? t - 1 : t);

/* Within limits no sum overflows; NaN counts as the mean. */
static float @cut(float x)
{
    if (x != x) return 0.0f;
    return x > $limit ? $limit : x < -$limit ? -$limit : x;
}

static float @dot(float sum, const float *x, const uint8_t *w, $counter n)
{
    do {
        $group
    } while (--n);
    return sum;
}

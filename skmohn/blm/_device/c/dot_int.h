static $total @dot$bits(const $code *x, const uint8_t *w, $counter n)
{
    $total sum = 0;
    do {
        $group
    } while (--n);
    return sum;
}

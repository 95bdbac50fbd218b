static $code @unit$depth($type s)
{
    const u$type size = $size;
    const $code y = $value;
    return s < 0 ? $negative : y;
}

static $type @own$depth($type s)
{
    const u$type size = $size;
    const $type y = ($type)($scaled);
    return s < 0 ? -y : y;
}

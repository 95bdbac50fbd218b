static $type @weight(const uint8_t *w, $index_type k)
{
    $lines
    return $weight;
}

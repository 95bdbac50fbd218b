static $type @weight(const uint8_t *w, $place k)
{
    $lines
    return $weight;
}

uint16_t parts[$n];
most = sums[0];
for (j = 1; j < $n; j++) if (sums[j] > most) most = sums[j];
for (j = 0; j < $n; j++) {
    const $type fall = ($type)(($type)most - ($type)sums[j]);
    const uint16_t place = (uint16_t)$exponent;
    const uint8_t k = (uint8_t)(place >> 8 & 15), part = (uint8_t)place;
    const uint16_t before = $at, drop = (uint16_t)(before - $at_next);
    const uint16_t less = (uint16_t)(((uint32_t)drop * part + 128) >> 8);
    parts[j] = (uint16_t)((uint16_t)(before - less) >> (place >> 12));
    total += parts[j];
}
for (j = 0; j < $n; j++)
    output[j] += (@output)(((uint32_t)parts[j] * ${one}UL + total / 2) / total);

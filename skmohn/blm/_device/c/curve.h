/* The hyperbolic tangent, by linear interpolation. */
static $code @curve(uint16_t place)
{
    const uint8_t k = (uint8_t)(place >> 8), part = (uint8_t)place;
    const $value before = $at;
    const $rise rise = ($rise)($at_next - before);
    return ($code)(before + (($product)(($product)rise * part + 128) >> 8));
}

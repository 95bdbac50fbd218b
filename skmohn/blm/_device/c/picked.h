static $type @picked($arguments)
{
    $counter i;
    for (i = 0; i < $n; i++) {
        const $code u = @weight(w, picks[i]);
        sum += $product;
    }
    return sum;
}

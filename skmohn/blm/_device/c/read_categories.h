{
    $place before = 0;
    for (i = 0; i < $n; i++) {
        const @input v = input[$first + i];
        const $place n = $size;
        picks[i] = 0;
        factors[i] = 0;
        if ($known) {
            picks[i] = ($place)(before + ($place)v);
            factors[i] = $factor;
        }
        before = ($place)(before + n);
    }
}

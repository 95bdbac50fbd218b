{
    $index_type before = 0;
    for (i = 0; i < $n; i++) {
        const @input v = input[$first + i];
        const $index_type n = $size;
        picks[i] = 0;
        factors[i] = 0;
        if ($known) {
            picks[i] = ($index_type)(before + ($index_type)v);
            factors[i] = $factor;
        }
        before = ($index_type)(before + n);
    }
}

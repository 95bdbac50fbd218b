{ $counter i;
    for (i = 0; i < $n; i++)
        output[i] = output[i] * $scale + $offset;
}

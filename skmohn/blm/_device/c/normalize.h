{
    float total = 0.0f;
    for (i = 0; i < $n; i++) total += probabilities[i];
    for (i = 0; i < $n; i++) probabilities[i] /= total;
}

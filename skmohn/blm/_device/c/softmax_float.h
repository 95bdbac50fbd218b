most = sums[0];
for (j = 1; j < $n; j++) if (sums[j] > most) most = sums[j];
for (j = 0; j < $n; j++) {
    const float fall = @tanh(0.5f * (sums[j] - most));
    sums[j] = (1.0f + fall) / (1.0f - fall);
    total += sums[j];
}
for (j = 0; j < $n; j++) output[j] += sums[j] / total;

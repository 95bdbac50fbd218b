@output most = output[0];
float total = 0.0f;
for (i = 1; i < $n; i++) if (output[i] > most) most = output[i];
for (i = 0; i < $n; i++)
    total += probabilities[i] = expf(((float)output[i] - (float)most) * @SCALE);
for (i = 0; i < $n; i++) probabilities[i] /= total;

most = output[0];
for (i = 1; i < $n; i++)
    if (output[i] > most) {
        most = output[i];
        best = i;
    }
return best;

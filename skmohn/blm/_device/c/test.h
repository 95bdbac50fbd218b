/* Compare $name.h with expected outputs; return the number of rows that differ. */
#include <stdio.h>
#include "$name.h"

$tables

int main(void)
{
    $state
    int row, k, wrong = 0;
    $reset
    for (row = 0; row < $n_rows; row++) {
        @output output[$n];
        int differs = 0;
        @run(${argument}inputs[row], output);
        for (k = 0; k < $n; k++)
            if (output[k] != outputs[row][k]) differs = 1;
        wrong += differs;
    }
    printf("$name: %d of $n_rows rows differ\n", wrong);
    return wrong;
}

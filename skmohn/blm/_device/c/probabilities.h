#ifdef @WITH_PROBABILITIES
#include <math.h>
/* Convert the outputs of @run to the probability of each class. */
static inline void @probabilities(const @output *output,
    float *probabilities)
{
    $counter i;
    $body
}
#endif

#ifdef @WITH_PROBABILITIES
#include <math.h>
/* From what @run has computed to the probability of each class. */
static inline void @probabilities(const @output *output,
    float *probabilities)
{
    $counter i;
    $body
}
#endif

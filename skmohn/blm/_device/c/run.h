/* Compute the outputs for one input. */
static inline void @run(${state}const @input *input, @output *output)
{
    $body
}

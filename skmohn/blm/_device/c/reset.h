/* Begin a sequence: all hidden outputs are zero. */
static inline void @reset(@state *state)
{
    $indices
    $resets
}

/* Begin a sequence: all hidden units are silent. */
static inline void @reset(@state *state)
{
    $indices
    $resets
}

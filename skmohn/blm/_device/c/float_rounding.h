/* Round each operation, and test for NaN: otherwise bits would differ. */
#if defined(__clang__)
#pragma float_control(push)
#pragma float_control(precise, on)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize ("fp-contract=off", "no-fast-math")
#else
#pragma STDC FP_CONTRACT OFF
#endif

$functions
#if defined(__clang__)
#pragma float_control(pop)
#elif defined(__GNUC__)
#pragma GCC pop_options
#else
#pragma STDC FP_CONTRACT DEFAULT
#endif

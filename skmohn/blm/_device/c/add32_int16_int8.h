#define @ADD32(u) do { uint8_t room; __asm__ (                         \
"ld %1, %a2+\n\t"                                                      \
"mulsu %3, %1\n\t"                                                     \
"sbc %1, %1\n\t"                                                       \
"add %A0, r0\n\t"                                                      \
"adc %B0, r1\n\t"                                                      \
"adc %C0, %1\n\t"                                                      \
"adc %D0, %1\n\t"                                                      \
"ld %1, %a2+\n\t"                                                      \
"muls %1, %3\n\t"                                                      \
"sbc %1, %1\n\t"                                                       \
"add %B0, r0\n\t"                                                      \
"adc %C0, r1\n\t"                                                      \
"adc %D0, %1\n\t"                                                      \
"clr r1\n\t"                                                           \
: "+r" (sum), "=&a" (room), "+x" (x)                                   \
: "a" ((int8_t)(u)) : "memory"); } while (0)

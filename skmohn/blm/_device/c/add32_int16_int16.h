#define @ADD32(u) do { uint16_t room; __asm__ (                        \
"ld %A1, %a2+\n\t"                                                     \
"ld %B1, %a2+\n\t"                                                     \
"mul %A1, %A3\n\t"                                                     \
"add %A0, r0\n\t"                                                      \
"adc %B0, r1\n\t"                                                      \
"clr r1\n\t"                                                           \
"adc %C0, r1\n\t"                                                      \
"adc %D0, r1\n\t"                                                      \
"mulsu %B3, %A1\n\t"                                                   \
"sbc %A1, %A1\n\t"                                                     \
"add %B0, r0\n\t"                                                      \
"adc %C0, r1\n\t"                                                      \
"adc %D0, %A1\n\t"                                                     \
"mulsu %B1, %A3\n\t"                                                   \
"sbc %A1, %A1\n\t"                                                     \
"add %B0, r0\n\t"                                                      \
"adc %C0, r1\n\t"                                                      \
"adc %D0, %A1\n\t"                                                     \
"muls %B1, %B3\n\t"                                                    \
"add %C0, r0\n\t"                                                      \
"adc %D0, r1\n\t"                                                      \
"clr r1\n\t"                                                           \
: "+r" (sum), "=&a" (room), "+x" (x)                                   \
: "a" ((int16_t)(u)) : "memory"); } while (0)

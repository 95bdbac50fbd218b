#define @ADD16(u) do { uint8_t room; __asm__ (                         \
"ld %1, %a2+\n\t"                                                      \
"muls %1, %3\n\t"                                                      \
"add %A0, r0\n\t"                                                      \
"adc %B0, r1\n\t"                                                      \
"clr r1\n\t"                                                           \
: "+r" (sum), "=&d" (room), "+x" (x)                                   \
: "d" ((int8_t)(u)) : "memory"); } while (0)

#if defined(__AVR__) && !defined(__AVR_TINY__)
#include <avr/pgmspace.h>
#define @ROM PROGMEM
#define @READ8(p) pgm_read_byte(p)
#define @READ16(p) pgm_read_word(p)
#define @READ32(p) pgm_read_dword(p)
#define @READ_FLOAT(p) pgm_read_float(p)
#if defined(__AVR_HAVE_MUL__) && defined(__AVR_HAVE_LPMX__) && !defined(@PLAIN_C)
#define @ASSEMBLER
#endif
#else
#define @ROM
#define @READ8(p) (*(p))
#define @READ16(p) (*(p))
#define @READ32(p) (*(p))
#define @READ_FLOAT(p) (*(p))
#endif
#ifdef @ASSEMBLER
__attribute__((always_inline))
static inline uint8_t @next(const uint8_t **w)
{
    uint8_t byte;
    __asm__ ("lpm %0, %a1+" : "=r" (byte), "+z" (*w));
    return byte;
}
#define @NEXT(w) @next(&w)
#else
#define @NEXT(w) @READ8(w++)
#endif

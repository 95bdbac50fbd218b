/* Reads images of 64 bytes, and prints the digit of each: here from the standard input,
   on an ATmega328P from the serial port at 9600 baud. */
#include <stdio.h>
#include "digits.h"

#ifdef __AVR__
#include <avr/io.h>

static int get(FILE *file)
{
    (void)file;
    while (!(UCSR0A & (1 << RXC0)));
    return UDR0;
}

static int put(char c, FILE *file)
{
    (void)file;
    while (!(UCSR0A & (1 << UDRE0)));
    UDR0 = c;
    return 0;
}

static FILE serial = FDEV_SETUP_STREAM(put, get, _FDEV_SETUP_RW);

static void begin(void)
{
    UBRR0 = F_CPU / 16 / 9600 - 1;
    UCSR0B = (1 << RXEN0) | (1 << TXEN0);
    stdin = stdout = &serial;
}
#else
static void begin(void) {}
#endif

static const char labels[DIGITS_CLASSES] = DIGITS_LABELS;

int main(void)
{
    static digits_input pixels[DIGITS_INPUTS];
    begin();
    for (;;) {
        uint8_t i;
        for (i = 0; i < DIGITS_INPUTS; i++) {
            const int c = getchar();
            if (c == EOF) return 0;
            pixels[i] = (digits_input)c;
        }
        putchar('0' + labels[digits_predict(pixels)]);
        putchar('\n');
    }
}

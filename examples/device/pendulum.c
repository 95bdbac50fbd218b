/* Balances a pendulum on a cart: here a simulated one, on an ATmega328P one whose
   position, angle and velocities are voltages at the analog inputs 0 to 3, and whose
   motor obeys a pulse width at OC1A. */
#include "pendulum.h"

#ifdef __AVR__
#include <avr/io.h>
#include <util/delay.h>

/* What 5 V stand for, in the units of the inputs: 4 m, .8 rad, 8 m/s, 8 rad/s. */
static const int16_t ranges[PENDULUM_INPUTS] = {4000, 8000, 8000, 8000};
/* Outputs of the network that are full power. */
#define FULL ((pendulum_output)(20.0 / PENDULUM_SCALE))

static int16_t read_voltage(uint8_t channel)
{
    ADMUX = (1 << REFS0) | channel;
    ADCSRA = (1 << ADEN) | (1 << ADSC) | 7;
    while (ADCSRA & (1 << ADSC));
    /* From -512 to 511: half of the supply is zero. */
    return (int16_t)ADC - 512;
}

int main(void)
{
    DDRB |= (1 << PB1) | (1 << PB0);
    TCCR1A = (1 << COM1A1) | (1 << WGM11);
    TCCR1B = (1 << WGM13) | (1 << WGM12) | (1 << CS10);
    ICR1 = 1023;
    for (;;) {
        pendulum_input seen[PENDULUM_INPUTS];
        pendulum_output force[1];
        uint8_t i;
        for (i = 0; i < PENDULUM_INPUTS; i++)
            seen[i] = (int32_t)read_voltage(i) * ranges[i] / 512;
        pendulum_run(seen, force);
        /* The direction is a pin of its own. */
        if (force[0] < 0) PORTB |= 1 << PB0; else PORTB &= ~(1 << PB0);
        if (force[0] < 0) force[0] = -force[0];
        OCR1A = force[0] >= FULL ? 1023 : (uint16_t)(force[0] / (FULL / 1023));
        _delay_ms(100);
    }
}
#else
#include <math.h>
#include <stdio.h>

static pendulum_input in_units(double value, double unit)
{
    const double units = floor(value / unit + 0.5);
    return (pendulum_input)(units > 32767 ? 32767 : units < -32768 ? -32768 : units);
}

int main(void)
{
    double x = 0.0, angle = 0.4, velocity = 0.0, turning = 0.0, most = 0.0;
    float force = 0.0f;
    int step;
    /* 100 s in steps of .01 s; a force lasts for ten of them. */
    for (step = 0; step < 10000; step++) {
        const double sine = sin(angle), cosine = cos(angle);
        double push;
        if (step % 10 == 0) {
            pendulum_input seen[PENDULUM_INPUTS];
            seen[0] = in_units(x, 1e-3);
            seen[1] = in_units(angle, 1e-4);
            seen[2] = in_units(velocity, 1e-3);
            seen[3] = in_units(turning, 1e-3);
            pendulum_predict(seen, &force);
        }
        push = force - sine * (turning * turning - 9.81 * cosine);
        push /= 1.0 + sine * sine;
        x += 0.01 * velocity;
        angle += 0.01 * turning;
        velocity += 0.01 * push;
        turning += 0.01 * (push * cosine + 9.81 * sine);
        if (step >= 5000 && fabs(angle) > most) most = fabs(angle);
    }
    printf("largest angle in the last 50 s: %.4f rad, at %.2f m\n", most, x);
    return !(most < 0.1 && fabs(x) < 1.0);
}
#endif

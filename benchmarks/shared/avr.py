"""Programs on an ATmega328P: their size by avr-gcc, their time and stack by simavr."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

# What answers, called as in a program that reads a sensor.
_SIZE = """
{before}
int main(void)
{{
    for (;;) {{ __asm__ volatile ("" ::: "memory"); {call}; }}
}}
"""
# Memory between variables and stack is painted before each call; a timer counts eight
# cycles, or 64 where that is too short.
_MEASURE = """
#include <avr/io.h>
#include <avr/interrupt.h>
#include <avr/sleep.h>
#include <stdio.h>
{before}
static int put(char c, FILE *file) {{ (void)file; UDR0 = c; return 0; }}
static FILE serial = FDEV_SETUP_STREAM(put, NULL, _FDEV_SETUP_WRITE);
extern uint8_t __heap_start;
static uint8_t *volatile p;
static volatile uint8_t k;
static volatile uint16_t count;
int main(void)
{{
    stdout = &serial;
    for (k = 0;; k++) {{
        for (p = &__heap_start; p < (uint8_t *)SP - 4; p++) *p = 0xa5;
        TCCR1A = 0; TCNT1 = 0; TIFR1 = 1;
        TCCR1B = 2 + k;
        __asm__ volatile ("" ::: "memory");
        {call};
        __asm__ volatile ("" ::: "memory");
        count = TCNT1;
        TCCR1B = 0;
        for (p = &__heap_start; *p == 0xa5; p++);
        if (!(TIFR1 & 1) || k) {{
            printf("cycles %lu stack %u\\n", (k ? 64UL : 8UL) * count,
                   (unsigned)(RAMEND + 1 - (uint16_t)p));
            /* Asleep for good, not back: main has no registers to save, as above. */
            cli();
            sleep_mode();
        }}
    }}
}}
"""


# Seconds of a simulation that is not stuck, with room.
_PATIENCE = 20


class DoesNotFitError(Exception):
    """A program that avr-gcc refuses, or that never ends: it needs more memory."""


class Cost(NamedTuple):
    """What a program takes."""

    flash: int  # bytes, with the start-up code
    static: int  # bytes of variables, the inputs and outputs among them
    stack: int
    cycles: int

    @property
    def ram(self):
        """Bytes of memory in all."""
        return self.static + self.stack


def missing():
    """What is not installed, in words; None if all is there."""
    tools = ("avr-gcc", "avr-size", "simavr")
    lacking = [tool for tool in tools if shutil.which(tool) is None]
    return f"{' and '.join(lacking)} not found" if lacking else None


def measure(folder, before, call, mcu="atmega328p", optimize=("-Os", "-mrelax")):
    """Compile a program and run it.

    Parameters
    ----------
    folder : Path
        With the headers that it includes.
    before : str
        Includes and variables.
    call : str
        The statement that is measured.
    mcu : str, default="atmega328p"
    optimize : sequence of str, default=("-Os", "-mrelax")

    Returns
    -------
    cost : Cost

    Raises
    ------
    DoesNotFitError
        If it does not compile, is too large or does not end.
    """
    folder, parts = Path(folder), {"before": before, "call": call}
    flags = ["-std=gnu99", *optimize, f"-mmcu={mcu}", "-ffunction-sections"]
    flags += ["-fdata-sections", "-Wl,--gc-sections", "-I."]
    for name, text in (("size", _SIZE), ("measure", _MEASURE)):
        (folder / f"{name}.c").write_text(text.format(**parts), encoding="utf-8")
        command = ["avr-gcc", *flags, f"{name}.c", "-o", f"{name}.elf", "-lm"]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise DoesNotFitError(done.stderr)
    listed = subprocess.run(
        ["avr-size", "size.elf"], cwd=folder, check=True, capture_output=True, text=True
    )
    text, data, bss = map(int, listed.stdout.splitlines()[1].split()[:3])
    command = ["simavr", "-m", mcu, "-f", "16000000", "measure.elf"]
    try:
        run = subprocess.run(
            command,
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired as error:
        raise DoesNotFitError(
            "it never ends: variables and stack may overlap"
        ) from error
    found = re.search(r"cycles (\d+) stack (\d+)", run.stdout + run.stderr)
    if found is None:
        raise RuntimeError(f"simavr printed no figures: {run.stdout}{run.stderr}")
    return Cost(text + data, data + bss, int(found[2]), int(found[1]))

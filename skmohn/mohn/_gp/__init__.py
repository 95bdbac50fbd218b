"""All 2^n weights under the product prior."""

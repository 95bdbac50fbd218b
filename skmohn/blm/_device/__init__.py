"""Trained networks on microcontrollers: whole numbers, C, and the same in numpy."""

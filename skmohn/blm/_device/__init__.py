"""Trained networks on microcontrollers: integers, C, and the same in numpy."""

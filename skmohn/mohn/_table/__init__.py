"""Tables: values, coding and names."""

#ifdef @ASSEMBLER
$assembler
#else
$plain
#endif

static void @read(const @input *input, $outputs)
{
    $counter i;
    $body
}

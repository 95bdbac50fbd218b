static void @member($arguments)
{
    $counter j;
    $buffers
    $layers
}

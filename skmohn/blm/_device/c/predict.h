/* $what */
static inline $type @predict(${state}const @input *input$argument)
{
    $body
}

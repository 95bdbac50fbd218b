"""What other packages write for microcontrollers: C of models of scikit-learn.

Each function writes a header into a folder, and returns what a program has before
`main` and the statement that predicts. `n_inputs` numbers are read.
"""

import shutil
from contextlib import chdir
from pathlib import Path

from sklearn.neural_network import MLPClassifier


def by_emlearn(model, folder, n_inputs):
    """An MLP in single precision, or trees on numbers of 16 bits."""
    import emlearn

    is_net = isinstance(model, MLPClassifier)
    way = {} if is_net else {"dtype": "int16_t"}
    with chdir(folder):  # it compiles a copy for this computer in the present folder
        code = emlearn.convert(model, method="inline", **way)
    code.save(file=str(folder / "peer.h"), name="peer")
    for header in Path(emlearn.__file__).parent.glob("*.h"):
        shutil.copy(header, folder)
    kind = "float" if is_net else "int16_t"
    before = f'#include <stdint.h>\n#include "peer.h"\nstatic {kind} in[{n_inputs}];'
    call = f"out = peer_predict(in, {n_inputs})"
    return before + "\nstatic volatile int out;", call


def by_m2cgen(model, folder, n_inputs):
    """A model that answers with a score for each class, or one of the second."""
    import m2cgen

    text = m2cgen.export_to_c(model).replace("double", "float")
    (folder / "peer.h").write_text(text, encoding="utf-8")
    before = f'#include "peer.h"\nstatic float in[{n_inputs}], out[64];'
    if "* output" in text:
        return before, "score(in, out)"
    return before, "out[0] = score(in)"


def by_micromlgen(model, folder, n_inputs):
    """Trees, as a class of C++ that is read as C."""
    import micromlgen

    text = micromlgen.port(model)
    body = text[text.index("int predict") : text.index("protected:")]
    (folder / "peer.h").write_text(body, encoding="utf-8")
    before = '#include <stdint.h>\n#include "peer.h"\n'
    before += f"static float in[{n_inputs}];\nstatic volatile int out;"
    return before, "out = predict(in)"

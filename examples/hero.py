"""Draw docs/_static/hero.png, which opens the README and the landing page.

``python examples/hero.py`` fits the models of the first section of `make demo` and
draws what they found.
"""

import io
from pathlib import Path

import demo
import matplotlib.pyplot as plt
from PIL import Image

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "_static" / "hero.png"


def main():
    """Recover the spin glass, draw the answers, and R2 along noise."""
    glass, found = demo.spin_glass()
    scores = demo.along_noise(glass)
    plt.rcParams.update({"font.size": 12, "axes.titlesize": 13})
    figure = plt.figure(figsize=(15, 4.9), facecolor="#fbfaf7", layout="constrained")
    figure.get_layout_engine().set(w_pad=0.15, h_pad=0.1)
    answers, along = figure.subfigures(1, 2, width_ratios=[11, 4])
    for part in (answers, along):
        part.set_facecolor("#fbfaf7")
    demo.draw_answers(answers, glass, found)
    axes = along.subplots()
    axes.set_facecolor("#fbfaf7")
    demo.draw_noise(axes, scores)
    # A palette makes the file a third as large, and looks the same.
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=160)
    Image.open(drawn).convert("RGB").quantize(64).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()

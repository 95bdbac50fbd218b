"""
Epistasis in a genome scan (GWAS)
=================================

Which variants matter for a trait, and which only together? With 1500 variants there are
more than a million pairs. ``MOHNRegressor`` compares them all and keeps one of several
correlated neighbors; two displays show what is significant. The scan is simulated: 1000
individuals, three variants with main effects, and three pairs without main effects.
"""

# %%
# Search all pairs
# ----------------
#
# Genotypes are counts of an allele, packed at two or three bits each. 200 individuals
# are set apart for the tests at the end.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt

from skmohn import MOHNRegressor
from skmohn.datasets import make_gwas
from skmohn.inspection import ManhattanDisplay, QQDisplay

scan = make_gwas(
    1500,
    1000,
    n_main_effects=3,
    n_pairs=3,
    main_effect_variance=0.06,
    pair_variance=0.08,
    correlation=0.997,
    random_state=3,
)
X, y = scan.X[:800], scan.y[:800]
model = MOHNRegressor("pursuit", max_order=2, selection="ebic").fit(X, y)
print("true :", scan.terms)
print("found:", model.terms_)

# %%
# Along the genome
# ----------------
#
# Each dot is the test of a single variant. Members of pairs lie at the bottom, since
# they have no main effects; their arcs stand at the height of the pair.

chromosomes = [str(block // 10 + 1) for block in scan.blocks]
display = ManhattanDisplay.from_estimator(model, X, y, chromosomes=chromosomes)
display.ax_.set_title("Three variants and three pairs")
plt.show()

# %%
# More than chance?
# -----------------
#
# Dark dots are the tests of single variants and of the most significant pairs, against
# their expectation by chance; pale ones are tests of the residuals of the model, in
# which nothing is left.

QQDisplay.from_estimator(model, X, y)
plt.show()

# %%
# Which other variants fit as well?
# ---------------------------------
#
# Neighbors are correlated, so that the variant found need not be the cause.

print(
    model.collinear_terms_table()
    .groupby("term")
    .head(2)
    .round(2)
    .to_string(index=False)
)

# %%
# Tests on rows of their own
# --------------------------
#
# On the rows of the search, p-values are multiplied by the number of sets that it
# tried; on others only by the number of terms.

searched = model.significance_table().set_index("term")
apart = model.significance_table(scan.X[800:], scan.y[800:]).set_index("term")
for term, row in searched.iterrows():
    p_apart = apart.loc[term, "p_corrected"]
    print(f"{term:<17} searched {row.p_corrected:7.0e}   apart {p_apart:7.0e}")

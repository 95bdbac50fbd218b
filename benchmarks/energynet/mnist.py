"""One layer of 500 units on all of MNIST, as a model of the data.

The 60000 training images become bits once, with the intensities as probabilities, and
so do the 10000 test images. Printed are the mean log-likelihood of the test bits (AIS,
its standard error and effective sample size) and the seconds of the whole fit.
Published for an RBM of as many units on one such drawing of bits are -86.3 nats
(Cote and Larochelle 2016, from Salakhutdinov and Murray 2008), for the infinite RBM
-85.7 and for a deep belief net -84.6. Aimed at are -95 nats in 15 minutes, with 10
effective samples.
"""

from benchmarks.shared import common, energynet, results
from skmohn import EnergyNetTransformer

UNITS = 500
AIM = -95.0
MINUTES = 15
PUBLISHED = -86.3


def main():
    """Print one row."""
    options = common.parse_options(
        __doc__,
        instances=1,
        quick_instances=1,
        add_arguments=lambda parser: parser.add_argument(
            "--epochs", type=int, default=100
        ),
    )
    common.warm_up()
    data = energynet.mnist_bits(2000 if options.quick else 60_000, 10_000, options.seed)
    if data is None:
        return
    train, test = data
    epochs = 5 if options.quick else options.epochs
    table = common.Table(
        f"{len(train)} images as bits, {UNITS} units",
        "epochs minutes log_likelihood error ESS aim published",
        width=14,
    )
    for i in range(options.instances):
        seed = options.seed + i
        net = EnergyNetTransformer(
            None, UNITS, n_final_epochs=epochs, random_state=seed
        )
        net, seconds = energynet.fitted(net, train)
        mean, error, ess = energynet.log_likelihood(
            energynet.as_rbm(net), train, test, 300 if options.quick else 20_000, seed
        )
        minutes = seconds / 60
        met = mean >= AIM and minutes <= MINUTES and ess >= energynet.MIN_ESS
        table.row(
            epochs, minutes, f"{mean:.2f}", f"{error:.2f}", ess, AIM, PUBLISHED,
            met=met,
        )  # fmt: skip
    table.close()


if __name__ == "__main__":
    results.record(main)

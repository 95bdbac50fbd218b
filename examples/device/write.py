"""Train a classifier of digits and a controller of a pendulum; write both in C."""

import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from skmohn import BLMClassifier, BLMController
from skmohn.datasets import InvertedPendulum

# Images of 8 x 8 pixels from 0 to 16.
X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
model = BLMClassifier((20,), n_bits=4, tol=0.03, n_iter_no_change=2, random_state=0)
model.fit(X, y)
device = model.to_c("digits", ".", X=X, input_type="uint8")
print(device)
answers = device.predict(X_test)
print(f"accuracy {model.score(X_test, y_test):.3f}, on the device", end=" ")
print(f"{np.mean(answers == y_test):.3f}")

# What the program reads, and what it has to answer.
X_test.astype(np.uint8).tofile("digits.bin")
with open("digits.txt", "w", encoding="ascii") as file:
    file.writelines(f"{label}\n" for label in answers)

# Position and angle in millimetres and tenths of milliradians, and their velocities.
UNITS = [1e-3, 1e-4, 1e-3, 1e-3]
pendulum = InvertedPendulum(duration=20.0, n_simulations=5)
controller = BLMController((3,), goal=1e-3, n_restarts=5, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    controller.fit(pendulum)
paths = [pendulum.trace(controller.policy_, start) for start in (0.4, -0.4, 0.1)]
seen = np.concatenate(
    [np.column_stack([p.x, p.angle, p.velocity, p.angular_velocity]) for p in paths]
)
device = controller.to_c(
    "pendulum", ".", X=seen[::10], input_type="int16", input_scale=UNITS
)
print(device)
print(f"largest error {device.largest_error:.3g} standard deviations of the force")

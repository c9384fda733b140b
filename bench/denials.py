# SPDX-License-Identifier: Apache-2.0
# Runs in a box, for the rows about bindings: distinct targets, with a pause between, so that each denial is an event of its own and finds
# the loop asleep.
import time

for n in range(200):
    try:
        open(f"/etc/denied-{n}", "w")
    except PermissionError:
        time.sleep(0.005)
